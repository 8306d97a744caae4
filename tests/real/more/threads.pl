# SPDX-License-Identifier: MIT
# Forks, sockets, an ithread where perl has them, tied hashes, evals.
use strict; use warnings; use Socket; use threads;
socketpair(my $a, my $b, AF_UNIX, SOCK_STREAM, PF_UNSPEC) or die;
my $pid = fork; if (!$pid) { close $a; my %h = map { $_ => "x" x ($_ % 40) } 1 .. 5000; print {$b} join(",", scalar keys %h), "\n"; close $b; exit 7 }
close $b; print "child: ", <$a>; waitpid $pid, 0; print "status ", $? >> 8, "\n";
print join(" ", map { $_->join } map { my $n = $_; threads->create(sub { my @l = map { $_ * $n } 1 .. 3000; scalar @l + $n }) } 1 .. 4), "\n";
print eval("sub { " . join("+", map { "\$_[0]*$_" } 1 .. 500) . " }")->(2), "\n";
