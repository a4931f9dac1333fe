/* Ends with its output descriptors on their way through sockets that hold each other and that no process holds. */
#define _GNU_SOURCE
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void send_descriptor(int through, int descriptor) {
  char byte = 0, control[CMSG_SPACE(sizeof descriptor)];
  struct iovec bytes = {&byte, 1};
  struct msghdr message = {.msg_iov = &bytes, .msg_iovlen = 1};
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof descriptor);
  memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  if (sendmsg(through, &message, MSG_DONTWAIT) < 0) _exit(2);
}

int main(void) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0) return 3;
  for (int i = 0; i < 2; i++) {
    for (int descriptor = 1; descriptor <= 3; descriptor++) send_descriptor(ends[i], descriptor);
    send_descriptor(ends[i], ends[0]);
    send_descriptor(ends[i], ends[1]);
  }
  return write(1, "bye\n", 4) == 4 ? 0 : 4;
}
