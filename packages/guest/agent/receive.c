#include "agent.h"

#include "clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void refuse(struct agent *agent, uint32_t id, int error, const char *detail) {
  static char text[3 * FILE_PATH_MAX];
  struct json_out json = {text, 0, sizeof text, false};
  const char *name = strerrorname_np(error);
  reply_failed(&json, name ? name : "EUNKNOWN", detail);
  channel_control(&agent->channel, FRAME_FAILED, id, &json);
}

static void assign(struct agent *agent, const struct request *request) {
  if (agent->assigned) {
    refuse(agent, request->id, EALREADY, "the sandbox is assigned already");
    return;
  }
  agent->assigned = true;
  agent->lifetime_until_ms = boot_ms() + request->lifetime_ms;
  channel_control(&agent->channel, FRAME_ASSIGNED, request->id, NULL);
}

static void exec(struct agent *agent, const struct request *request) {
  int error = EPERM;
  /* A process made while everything is being killed would be killed too. */
  if (agent->commands.tree.active) error = EBUSY;
  else if (agent->assigned) error = commands_exec(&agent->commands, request->id, &request->exec);
  if (error) refuse(agent, request->id, error, agent->assigned ? "the command cannot be taken" : "not assigned");
}

static void kill_tree(struct agent *agent, const struct request *request) {
  if (!tree_ask(&agent->commands.tree, request->id, boot_ms())) refuse(agent, request->id, EBUSY, "too many questions");
}

static void file_begin(struct agent *agent, const struct request *request) {
  int error = EPERM;
  if (agent->assigned) {
    error = upload_begin(&agent->upload, WORKSPACE, request->id, request->file.path, (mode_t)request->file.mode,
                         request->file.size);
  }
  if (error) refuse(agent, request->id, error, request->file.path);
}

/* Data of a file that was refused may still be under way and is dropped. */
static bool is_open_upload(const struct agent *agent, uint32_t id) {
  return agent->upload.open && agent->upload.id == id;
}

static void file_data(struct agent *agent, const struct request *request) {
  if (!is_open_upload(agent, request->id)) return;
  int error = upload_data(&agent->upload, request->data.bytes, request->data.length);
  if (error) refuse(agent, request->id, error, agent->upload.path);
}

static void file_end(struct agent *agent, const struct request *request) {
  if (!is_open_upload(agent, request->id)) return;
  int error = upload_end(&agent->upload);
  if (error) refuse(agent, request->id, error, agent->upload.path);
  else channel_control(&agent->channel, FRAME_FILE_DONE, request->id, NULL);
}

/*
 * The worker answers with the time of the question, so a slow answer grants no more than a quick one. The latest end
 * counts: answers to old questions may come late and in a row.
 */
static void permit(struct agent *agent, const struct request *request) {
  uint64_t until = request->permit.t0_ms + request->permit.live_ms;
  if (request->permit.t0_ms <= boot_ms() && until > agent->permission_until_ms) agent->permission_until_ms = until;
}

/* Frames for a command that has just ended are no error: they crossed its exit on the way. */
static void act_on_command(struct agent *agent, const struct request *request) {
  struct command *command = commands_find(&agent->commands, request->id);
  if (!command) return;
  switch (request->type) {
    case FRAME_STDIN:
      if (!inlet_take(&command->in, request->data.bytes, request->data.length)) agent->end_reason = "protocol_error";
      break;
    case FRAME_STDIN_END: inlet_end(&command->in); break;
    case FRAME_SIGNAL: command_signal(command, (int)request->signal); break;
    case FRAME_CREDIT:
      command->credit += request->credit;
      if (command->credit > WINDOW_BYTES_MAX) command->credit = WINDOW_BYTES_MAX;
      break;
    default: break;
  }
}

static void act(struct agent *agent, const struct request *request) {
  switch (request->type) {
    case FRAME_ASSIGN: assign(agent, request); break;
    case FRAME_STRINGS:
      commands_strings(&agent->commands, request->id, request->data.bytes, request->data.length);
      break;
    case FRAME_EXEC: exec(agent, request); break;
    case FRAME_KILL_TREE: kill_tree(agent, request); break;
    case FRAME_FILE_BEGIN: file_begin(agent, request); break;
    case FRAME_FILE_DATA: file_data(agent, request); break;
    case FRAME_FILE_END: file_end(agent, request); break;
    case FRAME_PING: channel_control(&agent->channel, FRAME_PONG, request->id, NULL); break;
    case FRAME_PERMIT: permit(agent, request); break;
    case FRAME_END: agent->end_reason = "ordered"; break;
    default: act_on_command(agent, request); break;
  }
}

static void take_bytes(struct agent *agent, const uint8_t *bytes, size_t count) {
  while (count > 0 && !agent->end_reason) {
    struct frame frame;
    struct request request;
    enum frame_status status;
    size_t taken = frame_read(&agent->channel.reader, bytes, count, &frame, &status);
    bytes += taken;
    count -= taken;
    if (status == FRAME_MORE) continue;
    if (status == FRAME_TOO_LONG || request_read(&frame, &request) != REQUEST_OK) agent->end_reason = "protocol_error";
    else act(agent, &request);
  }
}

void agent_receive(struct agent *agent) {
  static uint8_t bytes[65536];
  ssize_t count = read(agent->channel.in, bytes, sizeof bytes);
  if (count > 0) take_bytes(agent, bytes, (size_t)count);
  else if (count == 0 || (errno != EAGAIN && errno != EINTR)) agent->end_reason = "stdin_closed";
}
