import assert from 'node:assert/strict'
import { it } from 'node:test'
import { LiteralPaths } from './literal-paths.ts'
import { parseQuery } from './parse-query.ts'

const respond = () => Promise.reject(new Error('nobody asks'))
const endpoints = [
  { method: 'GET', path: '/api/thing', respond },
  { method: 'POST', path: '/api/echo', respond },
  { method: 'GET', path: '/api/thing/{name}', respond },
] as const

it('a path without parameters is found by its text alone, and nothing else past the router', () => {
  const paths = new LiteralPaths(endpoints, parseQuery)
  const find = (method: string, url: string) => paths.find({ method, url })
  for (const method of ['GET', 'HEAD'])
    assert.equal(find(method, '/api/thing')?.endpoint, endpoints[0])
  assert.deepEqual(
    find('GET', '/api/thing?a=1&b=%2F&a=2')?.query,
    new Map([
      ['a', ['1', '2']],
      ['b', ['/']],
    ]),
  )
  for (const url of ['', '/', '/api/thing/', '/api/%74hing', '/api/thing#x', '/api/thing;a=1', '*'])
    assert.equal(find('GET', url), undefined, url)
  for (const url of ['/api/thing/x', '/api/thing/{name}', 'http://x/api/thing', '/__proto__'])
    assert.equal(find('GET', url), undefined, url)
  for (const method of ['POST', 'OPTIONS', 'DELETE', 'get'])
    assert.equal(find(method, '/api/thing'), undefined, method)
  assert.equal(find('GET', '/api/echo'), undefined)
})
