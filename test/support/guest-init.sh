#!/bin/busybox sh
# The first program of the guest. It takes its configuration as Flatcar does, with the real Ignition, and then does
# what that says: it runs the commands of the units that Ignition wrote, in the root that Ignition filled.
# What a machine is to do besides is on its asset tag (`guest` of a MachineSpec):
#   guest.tries=N      ask that often for a configuration before giving up
#   guest.patience=N   seconds for registering
#   guest.again=yes    in the end, ask for the configuration once more
#   guest.keeps=WORD   leave this word in every folder of the data partition
#   guest.report=STAGE in the end, report this, too
#   guest.NAME-fails=N with systemd: `merge`, `containerd` or `kubeadm` fails that often, see guest-systemd
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

while read -r module; do
  complaint=$(insmod "/modules/$module.ko" 2>&1) || end "FAILED: insmod $module: $complaint"
done </modules/order

option() {
  cat /proc/cmdline /sys/class/dmi/id/chassis_asset_tag | tr ' ' '\n' | sed -n "s|^$1=||p" | head -n 1
}

say "cmdline $(cat /proc/cmdline)"
say "date $(date -u +%Y-%m-%d)"
identity=
url=$(option ignition.config.url)
if [ -n "$url" ]; then
  token=$(echo "$url" | sed 's|.*/boot/\([^/]*\)/.*|\1|')
  base=$(echo "$url" | sed 's|/boot/.*||')
else
  # An installed system: what the installer was given is on the disk, where the stand-in for flatcar-install put it.
  mkdir -p /usr/lib/ignition
  dd if=/dev/vda bs=512 skip=1 count=64 2>/dev/null | tr -d '\0' >/usr/lib/ignition/user.ign
  [ -s /usr/lib/ignition/user.ign ] || end 'FAILED: no ignition.config.url, and nothing on the disk'
  # As networkd does: known to the DHCP server by another name than the firmware, so with another address.
  identity='-C -x 0x3d:ff00000001'
fi

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
udhcpc -i "$card" -s /bin/dhcp-script -n -q -t 20 -T 1 $identity || end 'FAILED: no address'

# Over plain HTTP, with the token of the boot. A server that restarts is no reason to give up.
report() {
  for try in $(seq 60); do
    timeout 5 wget -q -O /dev/null --header "Authorization: Bearer $token" --header 'Content-Type: application/json' \
      --post-data "{\"stage\":\"$1\"}" "$base/agent/v1/stage" && say "reported $1" && return
    sleep 1
  done
  end "FAILED: could not report $1"
}

run_ignition() { # STAGE…
  for stage in "$@"; do
    ignition --stage=$stage --root=/sysroot --platform=metal --log-to-stdout || return
  done
}

# Keys are written by the user that they are for.
chown 500:500 /sysroot/home/core
left=$(option guest.tries)
until run_ignition fetch-offline fetch files; do
  left=$((${left:-1} - 1))
  [ "$left" -gt 0 ] || end "FAILED: ignition $stage"
  say "FAILED: ignition $stage, $left tries left"
done
tell_files() { # FOLDER…
  find "$@" -type f | while read -r file; do
    say "file $(stat -c %a "$file") $(md5sum <"$file" | cut -c 1-32) ${file#/sysroot}"
  done
}
tell_files /sysroot/etc /sysroot/home /sysroot/opt

if [ -n "$url" ]; then
  report kernel
  report initramfs
fi

for folder in bin dev lib lib64 proc run sys; do
  mkdir -p /sysroot/$folder
  mount --bind /$folder /sysroot/$folder
done

# Where there is the real systemd, the rest is its business.
if [ -x /sysroot/usr/lib/systemd/systemd ]; then
  mount -o rbind /sysroot /sysroot
  cd /sysroot
  mount -o move . /
  exec chroot . /usr/lib/systemd/systemd
fi

# Runs what the units say, in this order; in place of systemd.
start() {
  for unit in "$@"; do
    seconds=120
    [ "$unit" != railhead-register ] || seconds=$(option guest.patience | grep . || echo $seconds)
    sed -n 's/^ExecStart\(Pre\)\{0,1\}=//p' "/sysroot/etc/systemd/system/$unit.service" >/run/commands
    while read -r command; do
      timeout "$seconds" chroot /sysroot sh -c "$command" </dev/null || {
        tell_mounts
        end "FAILED: $command"
      }
    done </run/commands
  done
}

# Tells what is mounted from the data partition, and what an earlier boot has left there.
tell_mounts() {
  grep '^/dev/.* /sysroot/' /proc/mounts | while read -r device place type options; do
    say "mounted $device ${place#/sysroot} $type $(stat -c %a "$place") $(cat "$place/word" 2>/dev/null)"
  done
}

leave_words() {
  grep '^/dev/.* /sysroot/' /proc/mounts | while read -r device place options; do
    option guest.keeps >"$place/word"
  done
}

# Machines that are not accepted ask again sooner than real ones.
export RAILHEAD_CANDIDATE_SECONDS=2 RAILHEAD_REFUSED_SECONDS=10

# The first one ends with a restart.
[ -f /sysroot/etc/systemd/system/railhead-install.service ] && start railhead-install
if [ -f /sysroot/etc/systemd/system/railhead-mount.service ]; then
  # What is asked of it is outside of its root, where it would refuse.
  export SYSTEMD_IGNORE_CHROOT=1
  systemd-udevd --daemon && udevadm trigger --subsystem-match=block && udevadm settle
  start railhead-mount railhead-register railhead-data
  tell_mounts
  leave_words
  tell_files /sysroot/etc/ssh
else
  start railhead-register
fi
start railhead-booted railhead-provisioned
stage=$(option guest.report)
[ -z "$stage" ] || chroot /sysroot /opt/railhead/bin/railhead-node report "$stage"

if [ -n "$(option guest.again)" ]; then
  rm /run/ignition.json
  run_ignition fetch && end 'FAILED: got a configuration once more'
  say 'no configuration once more'
fi
end DONE
