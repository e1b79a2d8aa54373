import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freePort } from '#lib/free-port.ts'
import type { RoleState } from './index-gauges.ts'
import { openRoleProbe } from './role-probe.ts'

test('a probe says whether its process leads or waits, and which store keeps it from working', async () => {
  const state: RoleState = { leads: undefined }
  let accounts = 'ok'
  const port = await freePort(0)
  const stores = async () => ({ accounts })
  const probe = await openRoleProbe(
    { role: 'verifier', state, gauges: [], stores },
    { host: '127.0.0.1', port },
  )
  const ask = (path: string) => fetch(`http://127.0.0.1:${port}${path}`)
  const readiness = async () => {
    const answer = await ask('/readyz')
    const { parts } = (await answer.json()) as { readonly parts: Readonly<Record<string, string>> }
    return `${answer.status} ${parts.verifier}, accounts ${parts.accounts}`
  }
  try {
    assert.equal((await ask('/livez')).status, 200)
    assert.equal(await readiness(), '503 starting, accounts ok')
    state.leads = false
    assert.equal(await readiness(), '200 waits, accounts ok')
    state.leads = true
    assert.equal(await readiness(), '200 leads, accounts ok')
    assert.match(await (await ask('/metrics')).text(), /^sexton_role_leads\{of="verifier"\} 1$/m)
    accounts = 'is read-only'
    assert.equal(await readiness(), '503 leads, accounts is read-only')
  } finally {
    await probe.stop()
  }
})
