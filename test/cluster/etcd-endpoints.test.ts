import { expect, test } from 'bun:test'
import { parseEtcdEndpoints } from '../../src/cluster/etcd/etcd-endpoints.ts'

test('several endpoints have the scheme and the user of the first one', () => {
  expect(parseEtcdEndpoints('http://a:2379,b:2380, c')).toEqual({
    origins: ['http://a:2379', 'http://b:2380', 'http://c:2379'],
    user: null,
  })
  expect(parseEtcdEndpoints('https://n:p%40ss@a:2379,b')).toEqual({
    origins: ['https://a:2379', 'https://b:2379'],
    user: { name: 'n', password: 'p@ss' },
  })
})

test('a scheme may be repeated, and its own port is kept', () => {
  expect(parseEtcdEndpoints('http://a:2379,http://b:80')?.origins).toEqual(['http://a:2379', 'http://b:80'])
  expect(parseEtcdEndpoints('http://[::1]:2379')?.origins).toEqual(['http://[::1]:2379'])
})

test.each([
  'a:2379',
  'http://',
  'http://a:2379/v3',
  'http://a:2379,',
  'http://a,u@b',
  'tcp://a',
  'http://a b',
  'http://n:50%off@a',
])('%p is refused', (text) => {
  expect(parseEtcdEndpoints(text)).toBeNull()
})
