# SPDX-License-Identifier: MIT
# Privilege separation: a child of another user that may make few system calls.
mkdir k; cd k
ssh-keygen -q -t ed25519 -N '' -f host; ssh-keygen -q -t ed25519 -N '' -f user; cat user.pub > authorized; chmod 600 authorized
mkdir -p -m 755 /run/sshd
/usr/sbin/sshd -D -e -p $PORT -h $PWD/host -f /dev/null -o ListenAddress=127.0.0.1 -o AuthorizedKeysFile=$PWD/authorized -o PidFile=none -o StrictModes=no -o UsePAM=no -o PermitRootLogin=yes 2> sshd.log & process=$!
ready
ask() { ssh -q -F /dev/null -i user -p $PORT -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o IdentityAgent=none root@127.0.0.1 "$@"; }
ask 'echo $((6*7)); exit 4' || echo status $?
ask 'seq 1 20000' | cksum
kill $process; wait $process || echo status $?
cd ..; rm -r k
