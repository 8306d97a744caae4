# SPDX-License-Identifier: MIT
# An agent that becomes a daemon, libgcrypt's guarded memory.
export GNUPGHOME=$PWD/home; mkdir -m 700 home
gpg --batch -q --passphrase '' --quick-generate-key 'A <a@example.org>' ed25519 sign never 2> /dev/null
gpg --batch -q --sign --armor -o words.asc words.txt
gpg --batch -q --decrypt words.asc 2> /dev/null | cksum
gpg --batch -q --passphrase secret --pinentry-mode loopback --symmetric -o words.gpg words.txt
gpg --batch -q --passphrase secret --pinentry-mode loopback --decrypt words.gpg 2> /dev/null | cksum
gpgconf --kill all
