import assert from 'node:assert/strict'
import { it } from 'node:test'
import { LiteralPaths } from './literal-paths.ts'

const respond = () => Promise.reject(new Error('nobody asks'))
const endpoints = [
  { method: 'GET', path: '/api/thing', respond },
  { method: 'POST', path: '/api/echo', respond },
  { method: 'GET', path: '/api/thing/{name}', respond },
] as const

it('a path without parameters is found by its text alone, and nothing else past the router', () => {
  const paths = new LiteralPaths(endpoints)
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

it('a request that comes again means the same, however many others came between', () => {
  const paths = new LiteralPaths(endpoints)
  const find = (url: string) => paths.find({ method: 'GET', url })
  const url = '/api/thing?a=1&a=2&__proto__=x&b=%20'
  const first = find(url)
  assert.equal(find(url)?.query, first?.query)
  for (let other = 0; other < 3_000; other += 1) find(`/api/thing?other=${other}`)
  assert.deepEqual(find(url), first)
  const long = `/api/thing?long=${'x'.repeat(1_000)}`
  assert.deepEqual(find(long)?.query, new Map([['long', ['x'.repeat(1_000)]]]))
  assert.equal(paths.find({ method: 'POST', url }), undefined)
})
