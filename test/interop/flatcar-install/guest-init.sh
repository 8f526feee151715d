#!/bin/bash
# The first program of a machine that is to be installed. Its root has real tools (the shell, udev, util-linux, GnuPG …)
# and all files of the installer's configuration; it runs what the unit says, in place of systemd.
export PATH=/usr/sbin:/usr/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mount -t tmpfs run /run
exec >/dev/console 2>&1
# Process substitution, which flatcar-install is full of.
ln -s /proc/self/fd /dev/fd

depmod -a
modprobe -a virtio_pci virtio_net virtio_blk btrfs
/usr/lib/systemd/systemd-udevd --daemon
udevadm trigger --action=add
udevadm settle
for card in /sys/class/net/e*; do card=${card##*/}; done
busybox ip link set lo up
busybox ip addr add 10.0.2.15/24 dev "$card"
busybox ip link set "$card" up
lsblk -o NAME,TYPE,RM,SIZE,SERIAL,PARTLABEL

sed -n 's/^ExecStart\(Pre\)\{0,1\}=//p' /etc/systemd/system/railhead-install.service >/run/commands
while read -r command; do
  $command </dev/null || {
    echo "GUEST: stays up: $command ended with $?"
    break
  }
done </run/commands
sync
busybox poweroff -f
