/**
 * Settings of the embedded server. Passed on its command line at every start, so that no other source can change them.
 */
export const SERVER_SETTINGS = {
  // A confirmed booking survives a power failure.
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  // Only this machine can connect. There is no Unix socket: socket paths are limited in length, and their locks survive
  // a crash.
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  // Sized for one service on about two cores, with short statements that touch few rows.
  max_connections: '60',
  shared_buffers: '128MB',
  wal_buffers: '16MB',
  max_wal_size: '1GB',
  max_worker_processes: '4',
  max_parallel_workers_per_gather: '0',
  max_logical_replication_workers: '0',
  jit: 'off',
  huge_pages: 'off',
  random_page_cost: '1.1',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_min_messages: 'warning',
  log_checkpoints: 'off',
} as const satisfies Record<string, string>
