import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { mine } from '#devnet/actions.ts'
import { accounts } from '#devnet/addresses.ts'
import { freePorts } from '#devnet/free-ports.ts'
import { startDevnet } from '#devnet/start-devnet.ts'
import { developmentWallets } from '#devnet/wallets.ts'
import { freePort, localFile } from '#main/local-chains.ts'
import { eventually } from '../world.ts'
import { signPayment } from './raw-payment.ts'
import { newPayer } from './x402-world.ts'

/** The service as a process of its own, so that it can be killed while a payment is on its way. */

test('kill -9 between sending and crediting: after the restart the payment is credited once', async () => {
  const setting = await prepare()
  const { base, origin } = setting
  const payer = await newPayer(base, 5_000_000n)
  await mine(base, { blocks: 1 })
  const first = await setting.startService()
  assert.equal((await fetch(`${origin}/api/stats`)).status, 200, 'the one free call')
  const { header } = await signPayment(payer)
  const headers = { 'PAYMENT-SIGNATURE': header }
  const broken = fetch(`${origin}/api/stats`, { headers }).catch(() => 'broken')
  await eventually(async () => ((await sentBySettler(base)) > 0 ? true : undefined), 10_000)
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
  assert.equal((await fetch(`${origin}/api/stats`, { headers })).status, 409)
  await mine(base, { blocks: 3 })
  assert.equal((await fetch(`${origin}/api/stats`)).status, 200)
  assert.equal(await balance(), 0.0999)
})

type Base = Awaited<ReturnType<typeof prepare>>['base']

/** Transactions of the settling wallet that wait for a block. */
async function sentBySettler(base: Base): Promise<number> {
  const count = async (block: string) =>
    Number(
      await base.rpc.send({
        method: 'eth_getTransactionCount',
        params: [accounts.settler, block],
      }),
    )
  return (await count('pending')) - (await count('latest'))
}

async function prepare() {
  const folder = mkdtempSync(join(tmpdir(), 'sexton-x402-killed-'))
  const devnet = await startDevnet({
    dataFolder: join(folder, 'chains'),
    ...(await freePorts()),
    live: false,
    historyDays: 40,
  })
  const port = await freePort(0)
  const local = localFile(port, {
    base: devnet.chains.base.rpcUrl,
    ethereum: devnet.chains.ethereum.rpcUrl,
  })
  const [file, keyFile] = [join(folder, 'my-ecosystem.json'), join(folder, 'key')]
  writeFileSync(file, JSON.stringify({ ...local, quotas: { ...local.quotas, anonymous: 1 } }))
  writeFileSync(keyFile, developmentWallets().settler.privateKey)
  const running = new Set<ChildProcess>()
  after(async () => {
    for (const child of running) child.kill('SIGKILL')
    await devnet.stop()
    rmSync(folder, { recursive: true, force: true })
  })
  const environment = {
    ...process.env,
    PORT: String(port),
    SEXTON_DATA: folder,
    SEXTON_ECOSYSTEM: file,
    SEXTON_SETTLING_KEY_FILE: keyFile,
    SEXTON_METRICS_PORT: 'off',
    LOG_LEVEL: 'warn',
  }
  const origin = `http://127.0.0.1:${port}`
  return {
    base: devnet.chains.base.client,
    origin,
    async startService() {
      await mine(devnet.chains.ethereum.client, { blocks: 1 })
      const child = spawn(process.execPath, ['src/cli/sexton.mjs', 'start'], {
        env: environment,
        stdio: ['ignore', 'ignore', 'inherit'],
      })
      running.add(child)
      const exit = once(child, 'exit').finally(() => running.delete(child))
      await eventually(async () => ((await isUp(origin)) ? true : undefined), 30_000)
      return { child, exit }
    },
  }
}

/** That blocks are old makes the service not ready; it answers all the same. */
async function isUp(origin: string): Promise<boolean> {
  const answer = await fetch(`${origin}/api/usage`).catch(() => undefined)
  if (answer?.status !== 200) return false
  const ready = await fetch(`${origin}/readyz`)
  return ready.status === 200
}
