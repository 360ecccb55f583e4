import { describe, expect, test } from 'bun:test'
import { errorText, messageOf } from '../../../src/api/mcp/json-rpc.ts'

describe('a message', () => {
  test.each<[unknown, string]>([
    [{ jsonrpc: '2.0', id: 1, method: 'ping' }, 'request'],
    [{ jsonrpc: '2.0', id: 'a', method: 'ping', params: {} }, 'request'],
    [{ jsonrpc: '2.0', id: 0, method: 'ping', more: 1 }, 'request'],
    [{ jsonrpc: '2.0', method: 'notifications/initialized' }, 'notification'],
    [{ jsonrpc: '2.0', id: 1, result: {} }, 'response'],
    [{ jsonrpc: '2.0', id: 1, error: { code: 1, message: '' } }, 'response'],
  ])('%j is a %s', (value, kind) => {
    expect(messageOf(value).kind).toBe(kind as 'request')
  })

  test.each<[unknown, string | number | null]>([
    [undefined, null],
    [null, null],
    [7, null],
    ['ping', null],
    [[], null],
    [{}, null],
    [{ id: 1, method: 'ping' }, 1],
    [{ jsonrpc: '1.0', id: 'a', method: 'ping' }, 'a'],
    [{ jsonrpc: '2.0', id: 1 }, 1],
    [{ jsonrpc: '2.0', id: 1, method: 7 }, 1],
    [{ jsonrpc: '2.0', id: 1, method: 'ping', params: [1] }, 1],
    [{ jsonrpc: '2.0', id: 1, method: 'ping', params: null }, 1],
    [{ jsonrpc: '2.0', id: null, method: 'ping' }, null],
    [{ jsonrpc: '2.0', id: 1.5, method: 'ping' }, null],
    [{ jsonrpc: '2.0', id: 2 ** 60, method: 'ping' }, null],
    [{ jsonrpc: '2.0', id: {}, method: 'ping' }, null],
  ])('%j is none, and is answered to %j', (value, id) => {
    expect(messageOf(value)).toMatchObject({ kind: 'invalid', error: { id, code: -32600, httpStatus: 400 } })
  })
})

test('an error carries neither its HTTP status nor data that it does not have', () => {
  expect(errorText({ id: 'a', code: -32601, message: 'no', httpStatus: 404 })).toBe(
    '{"jsonrpc":"2.0","id":"a","error":{"code":-32601,"message":"no"}}',
  )
})
