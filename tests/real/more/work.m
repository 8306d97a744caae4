% SPDX-License-Identifier: MIT
a = reshape(mod((1:40000) * 7919, 10007), 200, 200);
[q, r] = qr(a);
printf("%.6g %.6g\n", norm(a), abs(r(1, 1)));
c = cell(1, 2000);
for i = 1:2000 c{i} = repmat('x', 1, mod(i, 50)); end
printf("%d\n", numel(strjoin(c, ',')));
s = struct(); for i = 1:500 s.(sprintf('f%d', i)) = i; end
printf("%d %d\n", numel(fieldnames(s)), sum(structfun(@(v) v, s)));
