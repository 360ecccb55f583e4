/** How the service's own server runs. Given on its command line at every start, so that this list is the whole truth. */
export const SERVER_SETTINGS = {
  // An answered booking survives a power cut.
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  // This machine only, and no socket file: those have a path limit and locks that outlive a crash.
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  // One service on about two cores; statements are short and touch few rows.
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
