import { expect, test } from 'bun:test'
import { join } from 'node:path'

const FETCH_LIMIT = join(import.meta.dir, '../../src/app/self-command.ts')

test.each([
  ['a node', { CLUSTER_ETCD: 'http://a:2379' }, true],
  ['a node with less than it needs', { CLUSTER_ETCD: 'http://a:2379', BUN_CONFIG_MAX_HTTP_REQUESTS: '256' }, true],
  ['a node with enough', { CLUSTER_ETCD: 'http://a:2379', BUN_CONFIG_MAX_HTTP_REQUESTS: '20000' }, false],
  ['a node that was started again', { CLUSTER_ETCD: 'http://a:2379', BUN_CONFIG_MAX_HTTP_REQUESTS: '16384' }, false],
  ['a parent of workers', { WORKERS: '4' }, true],
  ['a parent of as many workers as there are cores', { WORKERS: 'auto' }, true],
  ['a parent of workers that was started again', { WORKERS: '4', BUN_CONFIG_MAX_HTTP_REQUESTS: '16384' }, false],
  ['a single process', {}, false],
  ['a single worker', { WORKERS: '1' }, false],
] as const)('%s: is it started again with a higher limit of `fetch`?', (_, env, isStarted) => {
  const script = `
    process.execve = (program, args, env) => console.log(env.BUN_CONFIG_MAX_HTTP_REQUESTS, ...args.slice(-2))
    const { liftFetchLimit } = await import(${JSON.stringify(FETCH_LIMIT)})
    liftFetchLimit(process.env, ['--take-over'])`
  const { stdout } = Bun.spawnSync([process.execPath, '-e', script], {
    env: { PATH: process.env['PATH'] ?? '', ...env },
  })
  expect(stdout.toString().trim()).toBe(isStarted ? '16384 serve --take-over' : '')
})
