# SPDX-License-Identifier: MIT
rsvg-convert -w 200 picture.svg -o picture.png; optipng -quiet -o1 picture.png; cksum < picture.png
