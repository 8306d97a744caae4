# SPDX-License-Identifier: MIT
# Each with two threads where it can: what comes back must be what went in.
tar --sort=name --mtime=@0 --owner=0 --group=0 -cf all.tar words.txt data.json table.csv
for tool in 'zstd -q -T2 -5' 'xz -T2 -3 --block-size=256KiB' 'pigz -n -p2' 'bzip2' 'pbzip2 -p2' 'lz4 -q' 'brotli -q 5'; do
	$tool -c all.tar > packed || echo status $?
	cksum < packed; ${tool%% *} -d -c packed > back 2> /dev/null || ${tool%% *} -d -c < packed > back; cmp back all.tar && echo "${tool%% *} good"
done
7z a -mmt=2 -bso0 -bsp0 all.7z words.txt data.json; 7z x -so all.7z words.txt | cmp - words.txt && echo 7z good
bsdtar -tf all.tar; rm all.7z
