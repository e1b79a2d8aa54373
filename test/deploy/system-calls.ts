import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { type AccountsWorld, startAccountsWorld } from '../accounts/world/accounts-world.ts'
import { findStrace, readTrace } from '../strace.ts'
import { findSystemdAnalyze } from './systemd-analyze.ts'

const UNIT = join(import.meta.dirname, '../../deploy/systemd/sexton.service')

describe('the filter of system calls in the systemd units', () => {
  let world: AccountsWorld
  before(async () => {
    world = await startAccountsWorld({ quotas: { anonymous: 500, free: 500, premium: 500 } })
  })
  after(() => world.stop())

  test('allows everything that the service calls from its start to its end', async () => {
    const allowed = await allowedCalls()
    assert.ok(allowed.has('read') && !allowed.has('mount'), 'the sets were read')
    // SQLite calls it as root alone.
    if (process.getuid?.() === 0) allowed.add('fchown')
    const file = join(world.folder, 'calls')
    const wrapper = [await findStrace(), '-D', '-f', '-qq', '-c', '-o', file]
    const service = await world.start('start', {
      wrapper,
      environment: {
        SEXTON_METRICS_PORT: '0',
      },
    })
    await service.ready()
    for (const path of ['/api/stats', '/api/burns?format=csv', '/', '/scalar/v1'])
      await (await fetch(service.url + path)).arrayBuffer()
    await service.stop()
    const called = [...(await readTrace(file)).matchAll(/^ *[\d.]+ .* (\w+)$/gm)].map(
      ([, name = '']) => name,
    )
    assert.ok(called.includes('epoll_ctl'), 'calls were traced')
    process.stdout.write(`# ${called.length - 1} system calls: ${called.join(' ')}\n`)
    assert.deepEqual(
      called.filter((name) => name !== 'total' && !allowed.has(name)),
      [],
    )
  })
})

/** What the unit's SystemCallFilter leaves. */
async function allowedCalls(): Promise<Set<string>> {
  const analyze = await findSystemdAnalyze()
  const callsOf = (set: string): readonly string[] =>
    execFileSync(analyze, ['syscall-filter', '--no-pager', set], { encoding: 'utf8' })
      .split('\n')
      .map((line) => line.trim())
      .flatMap((line) => (line.startsWith('@') ? (line === set ? [] : callsOf(line)) : [line]))
      .filter((line) => /^\w+$/.test(line))
  const allowed = new Set<string>()
  for (const [, not, sets = ''] of readFileSync(UNIT, 'utf8').matchAll(
    /^SystemCallFilter=(~?)(.+)$/gm,
  ))
    for (const call of sets.split(' ').flatMap(callsOf))
      if (not === '') allowed.add(call)
      else allowed.delete(call)
  return allowed
}
