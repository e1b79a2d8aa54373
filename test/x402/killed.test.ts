import assert from 'node:assert/strict'
import { test } from 'node:test'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { mine, mintUsdc } from '#devnet/actions.ts'
import { accounts } from '#devnet/addresses.ts'
import type { ChainClient } from '#devnet/chain-client.ts'
import { prepareService } from '../killable-service.ts'
import { eventually } from '../world.ts'
import { signPayment } from './raw-payment.ts'

test('kill -9 between sending and crediting: after the restart the payment is credited once', async () => {
  const setting = await prepareService({ quotas: { anonymous: 1 }, hasSettlingKey: true })
  const { base, origin } = setting
  const payer = privateKeyToAccount(generatePrivateKey())
  await mintUsdc(base, { to: payer.address, amount: 5_000_000n })
  await mine(base, { blocks: 1 })
  const first = await setting.startService()
  assert.equal((await fetch(`${origin}/api/stats`)).status, 200, 'the one free call')
  const { header } = await signPayment(payer)
  const headers = { 'PAYMENT-SIGNATURE': header }
  const broken = fetch(`${origin}/api/stats`, { headers }).catch(() => 'broken')
  await eventually(async () => ((await sentByRelayer(base)) > 0 ? true : undefined), 10_000)
  first.child.kill('SIGKILL')
  assert.deepEqual(await first.exit, [null, 'SIGKILL'])
  assert.equal(await broken, 'broken')

  await setting.startService()
  const balance = async () => {
    const usage = await (await fetch(`${origin}/api/usage`)).json()
    return (usage as { readonly prepaidBalanceUsd: number }).prepaidBalanceUsd
  }
  await mine(base, { blocks: 1 })
  await eventually(async () => ((await balance()) === 0.1 ? true : undefined), 20_000)
  assert.equal((await fetch(`${origin}/api/stats`, { headers })).status, 200, 'it serves its call')
  assert.equal((await fetch(`${origin}/api/stats`, { headers })).status, 409)
  await mine(base, { blocks: 3 })
  assert.equal((await fetch(`${origin}/api/stats`)).status, 200)
  assert.equal(await balance(), 0.0998)
})

/** Transactions of the settling wallet that wait for a block. */
async function sentByRelayer(base: ChainClient): Promise<number> {
  const count = async (block: string) =>
    Number(
      await base.rpc.send({
        method: 'eth_getTransactionCount',
        params: [accounts.relayer, block],
      }),
    )
  return (await count('pending')) - (await count('latest'))
}
