#!/bin/busybox sh
# Called by udhcpc.
[ "$1" = bound ] || exit 0
ip addr add "$ip/$mask" dev "$interface"
[ -z "$router" ] || ip route add default via "$router"
