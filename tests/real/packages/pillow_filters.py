# SPDX-License-Identifier: MIT
"""Pictures are drawn, turned, filtered, written as PNG and JPEG, and read again."""
import hashlib
import io

from PIL import Image, ImageDraw, ImageFilter

picture = Image.new("RGB", (1200, 800), "white")
draw = ImageDraw.Draw(picture)
for number in range(400):
    draw.ellipse((number * 7 % 1100, number * 11 % 700, number * 7 % 1100 + 90, number * 11 % 700 + 60), (number % 256, 90, 30))
for kind in ("PNG", "JPEG", "WEBP"):
    buffer = io.BytesIO()
    picture.rotate(17).filter(ImageFilter.GaussianBlur(3)).resize((600, 400)).save(buffer, kind)
    again = Image.open(io.BytesIO(buffer.getvalue())).convert("L")
    print(kind, again.size, hashlib.sha256(again.tobytes()).hexdigest()[:16])
