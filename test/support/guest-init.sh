#!/bin/busybox sh
# The first program of the guest: takes its configuration as Flatcar does, says how far it got, and powers off.
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmpfs /run
exec >/dev/console 2>&1

say() {
  echo "GUEST: $*"
}

end() {
  say "$@"
  poweroff -f
}

# Everything the network card needs, in an order that works without depmod.
for module in virtio virtio_ring virtio_pci_legacy_dev virtio_pci_modern_dev virtio_pci failover net_failover virtio_net; do
  [ -f /modules/$module.ko ] && insmod /modules/$module.ko
done

option() {
  tr ' ' '\n' </proc/cmdline | sed -n "s|^$1=||p" | head -n 1
}

say "cmdline $(cat /proc/cmdline)"
url=$(option ignition.config.url)
[ -n "$url" ] || end 'FAILED: no ignition.config.url'
token=$(echo "$url" | sed 's|.*/boot/\([^/]*\)/.*|\1|')
base=$(echo "$url" | sed 's|/boot/.*||')

# All of a large initrd must have arrived.
[ -f /padding ] && say "padding $(md5sum </padding)"

ip link set lo up
# The card it booted from, if the boot loader told; else the first.
mac=$(option BOOTIF | sed 's/^01-//; s/-/:/g')
for card in /sys/class/net/eth*; do
  [ -z "$mac" ] || [ "$(cat $card/address)" = "$mac" ] && break
done
card=${card##*/}
ip link set "$card" up
udhcpc -i "$card" -s /bin/dhcp-script -n -q -t 20 -T 1 || end 'FAILED: no address'

# A server that restarts is no reason to give up.
report() {
  for try in $(seq 60); do
    timeout 5 wget -q -O /dev/null --header "Authorization: Bearer $token" --header 'Content-Type: application/json' \
      --post-data "{\"stage\":\"$1\"}" "$base/agent/v1/stage" && say "reported $1" && return
    sleep 1
  done
  end "FAILED: could not report $1"
}

for stage in fetch-offline fetch files; do
  ignition --stage=$stage --root=/sysroot --platform=metal --log-to-stdout || end "FAILED: ignition $stage"
done

report kernel
report initramfs
report ignition-done
if [ "$(option railhead.guest)" = install ]; then
  report installed
else
  report boot-complete
fi
end DONE
