# SPDX-License-Identifier: MIT
# Hashes, strings, regular expressions and sorting, with a checksum of what came out.
use strict;
use warnings;
my $seed = 42;
sub random { $seed = ($seed * 1103515245 + 12345) % 2147483648; return $seed % $_[0]; }
my %count;
my @lines = map { join ' ', map { 'w' . random(3000) } 1 .. 12 } 1 .. 15000;
for my $line (@lines) { $count{$1}++ while $line =~ /(w\d+)/g; }
my @top = sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count;
my %nested;
push @{ $nested{ length $_ }{ substr $_, 0, 3 } }, $_ for @top;
my $text = join "\n", map { "$_=$count{$_}" } @top;
(my $changed = $text) =~ s/w(\d)/W<$1>/g;
my $sum = 0;
$sum = ($sum * 31 + ord) % 1000003 for split //, $changed;
print scalar(@top), " $top[0] ", length($changed), " $sum ", scalar(keys %nested), "\n";
