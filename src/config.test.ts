import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ConfigError, readConfig } from './config.ts'

const terminal = { isTty: false }

describe('the settings', () => {
  it('an empty environment serves locally from embedded databases', () => {
    const config = readConfig({ PATH: '/bin', PORT: '' }, terminal)
    assert.equal(config.host, '127.0.0.1')
    assert.equal(config.port, 4020)
    assert.deepEqual(config.database, { kind: 'sqlite' })
    assert.deepEqual(config.trustedProxies, [])
    assert.equal(config.log.format, 'json')
  })

  it('a database URL names one host: which of several is the primary is decided before it', () => {
    const read = (SEXTON_DATABASE_URL: string) =>
      readConfig({ SEXTON_DATABASE_URL, SEXTON_CONNECTIONS: '3' }, terminal).database
    const url = 'postgres://u:p@one:5432/sexton'
    assert.deepEqual(read(url), { kind: 'postgres', url, connectionsMax: 3 })
    for (const hosts of ['one,two', 'one:5432,two:5433'])
      assert.throws(() => read(`postgres://u:p@${hosts}/sexton`), ConfigError)
  })

  it('a bare address of a proxy means this one address', () => {
    const SEXTON_TRUSTED_PROXIES = '10.0.0.0/8,192.0.2.1, fd00::1'
    const { trustedProxies } = readConfig({ SEXTON_TRUSTED_PROXIES }, terminal)
    assert.deepEqual(trustedProxies, ['10.0.0.0/8', '192.0.2.1/32', 'fd00::1/128'])
  })

  for (const [name, value] of [
    ['PORT', '70000'],
    ['PORT', '80x'],
    ['LOG_LEVEL', 'loud'],
    ['SEXTON_DATABASE_URL', 'mysql://x'],
    ['SEXTON_TRUSTED_PROXIES', '10.0.0.0/8, nonsense'],
    ['SEXTON_GUARD_PER_MINUTE', '0'],
    ['SEXTON_DATABSE_URL', 'postgres://u:p@db/one'],
  ] as const)
    it(`${name}=${value} is refused by name, with the other mistakes`, () => {
      assert.throws(
        () => readConfig({ [name]: value, SEXTON_DRAIN_SECONDS: 'long' }, terminal),
        (error) =>
          error instanceof ConfigError &&
          [name, 'SEXTON_DRAIN_SECONDS'].every((each) => error.message.includes(`${each}: `)),
      )
    })

  it('F1: the error about a database URL does not show its password', () => {
    assert.throws(
      () => readConfig({ SEXTON_DATABASE_URL: 'http://me:hunter2@db/x' }, terminal),
      (error) => error instanceof ConfigError && !error.message.includes('hunter2'),
    )
  })
})
