# Makes a root of its own for process 1 and becomes the guest agent in it. Descriptor 3 is the link.
set -e
for group in $GROUPS_JOINED; do echo 0 > "$group/cgroup.procs"; done
mount -t tmpfs -o mode=755 root "$ROOT"
cd "$ROOT"
mkdir -p usr etc proc dev tmp workspace sys/fs/cgroup/memory
mount --bind /usr usr
ln -s usr/bin usr/sbin usr/lib usr/lib64 .
mount -t proc proc proc
for node in null zero urandom; do : > dev/$node; mount --bind /dev/$node dev/$node; done
ln -s /proc/self/fd dev/fd
mkdir dev/shm
mount -t tmpfs -o size=1m,mode=1777 shm dev/shm
mount -t tmpfs -o size=16m,mode=1777 tmp tmp
mount -t tmpfs -o "size=$WORKSPACE_BYTES,mode=755,uid=$GUEST_UID,gid=$GUEST_UID" workspace workspace
for group in $GROUPS_JOINED; do
  kind=${group#/sys/fs/cgroup/}; kind=${kind%%/*}
  mkdir -p "sys/fs/cgroup/$kind"
  mount --bind "$group" "sys/fs/cgroup/$kind"
done
cp "$AGENT" agent
set -- --reuid "$GUEST_UID" --regid "$GUEST_UID" --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all
exec env -i /usr/sbin/chroot . /usr/bin/setpriv "$@" /agent --lifetime-ms "$LIFETIME_MS" <&3 >&3 3>&-
