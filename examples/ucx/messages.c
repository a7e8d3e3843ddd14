/* Two processes exchange messages by UCP, with each of its three ways (tags, a stream, active messages) and each of its three
 * datatypes (contiguous, a list of pieces, the program's own packing), and check every value.
 *
 *   example-ucx 10.77.0.2 7777          waits for a peer at this address
 *   example-ucx 10.77.0.2 7777 peer     is that peer, on another host
 *
 * UCX chooses the network among those that UCX_NET_DEVICES and UCX_TLS allow. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucp/api/ucp.h>

enum {
  kDoubles = 1000,
  kPieces = 3,
  kPieceBytes = 700,
  kStreamBytes = 100000,
  kSmall = 512,
  kLarge = 1 << 20,
  kHandler = 5
};
enum { kTagContig = 1, kTagPieces = 2, kTagOwn = 3, kTagDone = 4 };

static ucp_context_h context;
static ucp_worker_h worker;
static ucp_ep_h endpoint;
static ucp_conn_request_h connection; /* The listener sets it when the peer connects. */
static int is_over;                   /* Everything has arrived: the peer may go. */

static void fail(const char* what, ucs_status_t status) {
  fprintf(stderr, "example-ucx: %s: %s\n", what, ucs_status_string(status));
  exit(1);
}
static void need(const char* what, ucs_status_t status) {
  if (status != UCS_OK) fail(what, status);
}
static void need_right(const char* what, int is_right) {
  if (!is_right) fprintf(stderr, "example-ucx: %s: wrong data\n", what), exit(1);
  printf("%s: right\n", what);
}

/* Moves all communication on until a request is done. UCP returns no request where the operation was done at once. */
static void wait_for(const char* what, ucs_status_ptr_t request) {
  if (UCS_PTR_IS_ERR(request)) fail(what, UCS_PTR_STATUS(request));
  if (request == NULL) return;
  while (ucp_request_check_status(request) == UCS_INPROGRESS) ucp_worker_progress(worker);
  need(what, ucp_request_check_status(request));
  ucp_request_free(request);
}

/* Value i of a message; every message has its own seed. */
static double value_of(int seed, size_t i) { return seed * 1000.5 + (double)i; }
static unsigned char byte_of(int seed, size_t i) { return (unsigned char)(seed * 31 + i * 7 + (i >> 8)); }
static void fill_bytes(unsigned char* to, int seed, size_t first, size_t count) {
  for (size_t i = 0; i < count; ++i) to[i] = byte_of(seed, first + i);
}
static int are_bytes(const unsigned char* at, int seed, size_t count) {
  for (size_t i = 0; i < count; ++i)
    if (at[i] != byte_of(seed, i)) return 0;
  return 1;
}

/* Messages with tags. */
static void send_tagged(const char* what, ucp_tag_t tag, const void* buffer, size_t count, ucp_datatype_t type) {
  const ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE, .datatype = type};
  wait_for(what, ucp_tag_send_nbx(endpoint, buffer, count, tag, &param));
}
static void receive_tagged(const char* what, ucp_tag_t tag, void* buffer, size_t count, ucp_datatype_t type) {
  const ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE, .datatype = type};
  wait_for(what, ucp_tag_recv_nbx(worker, buffer, count, tag, (ucp_tag_t)-1, &param));
}

/* The program's own type: of each record only its value travels, and the peer's records have another layout. UCP may cut the
 * packed bytes anywhere. */
typedef struct {
  int number;
  double value;
} sent_record;
typedef struct {
  double value;
  char name[24];
} received_record;
typedef struct {
  sent_record* sent;
  received_record* received;
  size_t count;
} packing;

static void* start_pack(void* unused, const void* buffer, size_t count) {
  (void)unused;
  packing* state = calloc(1, sizeof *state);
  if (state != NULL) *state = (packing){.sent = (sent_record*)buffer, .count = count};
  return state;
}
static void* start_unpack(void* unused, void* buffer, size_t count) {
  (void)unused;
  packing* state = calloc(1, sizeof *state);
  if (state != NULL) *state = (packing){.received = buffer, .count = count};
  return state;
}
static size_t packed_size(void* state) { return ((packing*)state)->count * sizeof(double); }
static size_t pack(void* state, size_t offset, void* to, size_t length_max) {
  const packing* p = state;
  const size_t left = packed_size(state) - offset, length = left < length_max ? left : length_max;
  for (size_t i = 0; i < length; ++i) {
    const size_t at = offset + i;
    ((char*)to)[i] = ((const char*)&p->sent[at / sizeof(double)].value)[at % sizeof(double)];
  }
  return length;
}
static ucs_status_t unpack(void* state, size_t offset, const void* from, size_t length) {
  const packing* p = state;
  if (offset + length > packed_size(state)) return UCS_ERR_MESSAGE_TRUNCATED;
  for (size_t i = 0; i < length; ++i) {
    const size_t at = offset + i;
    ((char*)&p->received[at / sizeof(double)].value)[at % sizeof(double)] = ((const char*)from)[i];
  }
  return UCS_OK;
}
static void finish(void* state) { free(state); }

static ucp_datatype_t own_type(void) {
  const ucp_generic_dt_ops_t ops = {start_pack, start_unpack, packed_size, pack, unpack, finish};
  ucp_datatype_t type;
  need("a type of the program's own", ucp_dt_create_generic(&ops, NULL, &type));
  return type;
}

static void send_by_tags(void) {
  static double values[kDoubles];
  static unsigned char pieces[kPieces][kPieceBytes];
  static sent_record records[kDoubles];
  ucp_dt_iov_t list[kPieces];
  for (size_t i = 0; i < kDoubles; ++i) values[i] = value_of(1, i), records[i] = (sent_record){(int)i, value_of(3, i)};
  for (size_t i = 0; i < kPieces; ++i) {
    fill_bytes(pieces[i], 2, i * kPieceBytes, kPieceBytes);
    list[i] = (ucp_dt_iov_t){pieces[i], kPieceBytes};
  }
  send_tagged("tags, contiguous", kTagContig, values, kDoubles, ucp_dt_make_contig(sizeof(double)));
  send_tagged("tags, list of pieces", kTagPieces, list, kPieces, ucp_dt_make_iov());
  const ucp_datatype_t type = own_type();
  send_tagged("tags, own type", kTagOwn, records, kDoubles, type);
  ucp_dt_destroy(type);
}

static void receive_by_tags(void) {
  static double values[kDoubles];
  static unsigned char bytes[kPieces * kPieceBytes];
  static received_record records[kDoubles];
  int is_right = 1;
  receive_tagged("tags, contiguous", kTagContig, values, kDoubles, ucp_dt_make_contig(sizeof(double)));
  for (size_t i = 0; i < kDoubles; ++i) is_right &= values[i] == value_of(1, i);
  need_right("tags, contiguous", is_right);
  receive_tagged("tags, list of pieces", kTagPieces, bytes, sizeof bytes, ucp_dt_make_contig(1));
  need_right("tags, list of pieces", are_bytes(bytes, 2, sizeof bytes));
  const ucp_datatype_t type = own_type();
  receive_tagged("tags, own type", kTagOwn, records, kDoubles, type);
  ucp_dt_destroy(type);
  for (size_t i = 0; i < kDoubles; ++i) is_right &= records[i].value == value_of(3, i) && records[i].name[0] == '\0';
  need_right("tags, own type", is_right);
}

/* A stream: bytes without borders, as in a socket. */
static void send_by_stream(void) {
  static unsigned char bytes[kStreamBytes];
  const ucp_request_param_t param = {0};
  fill_bytes(bytes, 4, 0, kStreamBytes);
  wait_for("stream", ucp_stream_send_nbx(endpoint, bytes, 1, &param));
  wait_for("stream", ucp_stream_send_nbx(endpoint, bytes + 1, kStreamBytes - 1, &param));
}

static void receive_by_stream(void) {
  static unsigned char bytes[kStreamBytes];
  size_t have = kStreamBytes / 2;
  // The first half into a buffer of ours, the rest where UCX has it.
  const ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS, .flags = UCP_STREAM_RECV_FLAG_WAITALL};
  size_t length;
  wait_for("stream", ucp_stream_recv_nbx(endpoint, bytes, have, &length, &param));
  while (have < kStreamBytes) {
    const ucs_status_ptr_t data = ucp_stream_recv_data_nb(endpoint, &length);
    if (UCS_PTR_IS_ERR(data)) fail("stream", UCS_PTR_STATUS(data));
    if (data == NULL) {
      ucp_worker_progress(worker);
      continue;
    }
    memcpy(bytes + have, data, length < kStreamBytes - have ? length : kStreamBytes - have);
    have += length;
    ucp_stream_data_release(endpoint, data);
  }
  need_right("stream", have == kStreamBytes && are_bytes(bytes, 4, kStreamBytes));
}

/* Active messages: the receiver's handler runs when one arrives. A large one is announced first, and fetched to where the
 * handler wants it. */
typedef struct {
  int is_here;
  size_t bytes;
  unsigned char* data;
  ucs_status_ptr_t fetching;
} arrival;
static arrival arrivals[2];

static ucs_status_t handle(void* unused, const void* header, size_t header_length, void* data, size_t length,
                           const ucp_am_recv_param_t* param) {
  int which;
  (void)unused;
  if (header_length != sizeof which) return UCS_ERR_INVALID_PARAM;
  memcpy(&which, header, sizeof which);
  if (which < 0 || which > 1) return UCS_ERR_INVALID_PARAM;
  arrival* a = &arrivals[which];
  *a = (arrival){.is_here = 1, .bytes = length, .data = malloc(length)};
  if (a->data == NULL) return UCS_ERR_NO_MEMORY;
  if ((param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) == 0) return memcpy(a->data, data, length), UCS_OK;
  const ucp_request_param_t fetch = {0};
  a->fetching = ucp_am_recv_data_nbx(worker, data, a->data, length, &fetch);
  return UCS_INPROGRESS;  // The descriptor is in use until the data are here.
}

static void send_active(void) {
  static unsigned char bytes[kLarge];
  const ucp_request_param_t param = {0};
  const size_t sizes[] = {kSmall, kLarge};
  for (int which = 0; which < 2; ++which) {
    fill_bytes(bytes, 5 + which, 0, sizes[which]);
    wait_for("active message", ucp_am_send_nbx(endpoint, kHandler, &which, sizeof which, bytes, sizes[which], &param));
  }
}

static void receive_active(void) {
  const size_t sizes[] = {kSmall, kLarge};
  for (int which = 0; which < 2; ++which) {
    while (!arrivals[which].is_here) ucp_worker_progress(worker);
    wait_for("active message", arrivals[which].fetching);
    need_right(which == 0 ? "active message, small" : "active message, large",
               arrivals[which].bytes == sizes[which] && are_bytes(arrivals[which].data, 5 + which, sizes[which]));
    free(arrivals[which].data);
  }
}

static void begin(void) {
  const ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES,
                               .features = UCP_FEATURE_TAG | UCP_FEATURE_STREAM | UCP_FEATURE_AM};
  need("ucp_init", ucp_init(&params, NULL, &context));
  const ucp_worker_params_t worker_params = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
                                             .thread_mode = UCS_THREAD_MODE_SINGLE};
  need("ucp_worker_create", ucp_worker_create(context, &worker_params, &worker));
  const ucp_am_handler_param_t handler = {
      .field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB, .id = kHandler, .cb = handle};
  need("ucp_worker_set_am_recv_handler", ucp_worker_set_am_recv_handler(worker, &handler));
}

static void lost(void* unused, ucp_ep_h ep, ucs_status_t status) {
  (void)unused, (void)ep;
  if (!is_over) fail("the connection", status);
}

static void connect_by(ucp_ep_params_t params) {
  params.field_mask |= UCP_EP_PARAM_FIELD_ERR_HANDLER | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE;
  params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  params.err_handler.cb = lost;
  need("ucp_ep_create", ucp_ep_create(worker, &params, &endpoint));
}

static void on_connection(ucp_conn_request_h request, void* unused) {
  (void)unused;
  if (connection == NULL) connection = request;
}

static void serve(const struct sockaddr_in* at) {
  ucp_listener_h listener;
  const ucp_listener_params_t params = {
      .field_mask = UCP_LISTENER_PARAM_FIELD_SOCK_ADDR | UCP_LISTENER_PARAM_FIELD_CONN_HANDLER,
      .sockaddr = {(const struct sockaddr*)at, sizeof *at},
      .conn_handler = {on_connection, NULL}};
  need("ucp_listener_create", ucp_listener_create(worker, &params, &listener));
  printf("listening\n");
  fflush(stdout);
  while (connection == NULL) ucp_worker_progress(worker);
  connect_by((ucp_ep_params_t){.field_mask = UCP_EP_PARAM_FIELD_CONN_REQUEST, .conn_request = connection});
  receive_by_tags();
  receive_by_stream();
  receive_active();
  // The peer keeps its end open until this is there.
  is_over = 1;
  send_tagged("end", kTagDone, "", 1, ucp_dt_make_contig(1));
  ucp_listener_destroy(listener);
}

static void send_all(const struct sockaddr_in* to) {
  char done;
  connect_by((ucp_ep_params_t){.field_mask = UCP_EP_PARAM_FIELD_FLAGS | UCP_EP_PARAM_FIELD_SOCK_ADDR,
                               .flags = UCP_EP_PARAMS_FLAGS_CLIENT_SERVER,
                               .sockaddr = {(const struct sockaddr*)to, sizeof *to}});
  send_by_tags();
  send_by_stream();
  send_active();
  receive_tagged("end", kTagDone, &done, 1, ucp_dt_make_contig(1));
  is_over = 1;
  printf("all sent\n");
}

int main(int argc, char** argv) {
  struct sockaddr_in address = {.sin_family = AF_INET};
  if ((argc != 3 && argc != 4) || inet_pton(AF_INET, argv[1], &address.sin_addr) != 1 || atoi(argv[2]) < 1) {
    fprintf(stderr, "usage: example-ucx ADDRESS PORT [peer]\n");
    return 2;
  }
  address.sin_port = htons((unsigned short)atoi(argv[2]));
  begin();
  if (argc == 3)
    serve(&address);
  else
    send_all(&address);
  const ucp_request_param_t flush = {0};
  const ucs_status_ptr_t closing = ucp_ep_close_nbx(endpoint, &flush);
  if (UCS_PTR_IS_PTR(closing)) {
    // The peer may have closed first, which is no failure any more.
    while (ucp_request_check_status(closing) == UCS_INPROGRESS) ucp_worker_progress(worker);
    ucp_request_free(closing);
  }
  ucp_worker_destroy(worker);
  ucp_cleanup(context);
  return 0;
}
