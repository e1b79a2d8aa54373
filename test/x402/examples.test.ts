import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { sleep } from '#base/async.ts'
import { findDebianProgram } from '../debian-program.ts'
import {
  fundWallet,
  heldBy,
  mintOpened,
  passBlocks,
  startX402World,
  type X402World,
} from './x402-world.ts'

const CURL = {
  names: ['curl'],
  missing: 'The example in shell needs curl: install it',
} as const

/** All that the script asks of `cast` before it pays is an address. */
const NAMES_A_WALLET = `printf 0x${'1'.repeat(40)}%.0s%.0s`

const folder = join(import.meta.dirname, '../../examples')

describe('the examples', () => {
  let world: X402World
  before(async () => {
    world = await startX402World()
  })
  after(() => world.stop())

  test('an agent with a wallet and nothing else gets its data, and pays once for many calls', async () => {
    const { api, base, origin } = world
    const privateKey = generatePrivateKey()
    const to = privateKeyToAccount(privateKey).address
    await fundWallet(base, { to, amount: 200_000n })
    assert.equal((await api.get('/api/stats')).status, 200)
    assert.equal((await api.get('/api/stats')).status, 402)
    const url = `http://localhost:${new URL(origin).port}/api/burns/total`
    for (let call = 0; call < 2; call += 1) {
      const { code, output } = await run(process.execPath, [join(folder, 'agent.js'), url], {
        PRIVATE_KEY: privateKey,
      })
      assert.equal(code, 0, output)
      assert.ok(JSON.parse(output).data.totalBurned)
      assert.equal(await heldBy(base, to), 100_000n)
    }
  })

  test('an agent that knows the address alone finds an endpoint by its question, pays and has the answer', async () => {
    const { base, origin } = world
    const privateKey = generatePrivateKey()
    const to = privateKeyToAccount(privateKey).address
    await fundWallet(base, { to, amount: 200_000n })
    const port = new URL(origin).port
    const program = join(folder, 'ask.ts')
    const question = 'Who are the top grave diggers?'
    const { code, output } = await run(
      process.execPath,
      [program, `http://localhost:${port}`, question],
      { PRIVATE_KEY: privateKey },
    )
    assert.equal(code, 0, output)
    assert.match(
      output,
      /^Top grave diggers \(\/api\/grave-digs\/leaderboard\), at most 0\.0001 USD$/m,
    )
    assert.match(output, /"rank": 1/)
    const none = await run(
      process.execPath,
      [program, `http://localhost:${port}`, 'Will it rain?'],
      {
        PRIVATE_KEY: privateKey,
      },
    )
    assert.match(none.output, /no endpoint fits "Will it rain\?"/)
  })

  test('by hand: a key, a transfer, a claim, and calls that are paid from the balance', async () => {
    const { base, origin, devnet } = world
    const { privateKey } = devnet.wallets.holder
    // The gate is open once a key can be minted; its free call is used up.
    const first = await mintOpened(world, devnet.wallets.holder)
    assert.equal((await world.api.get('/api/stats', first.authorization)).status, 200)
    await findDebianProgram(process.env, CURL)
    const ended = new AbortController()
    const running = run('sh', [join(folder, 'prepay.sh')], {
      PRIVATE_KEY: privateKey,
      API: origin,
      ETH_RPC_URL: base.rpcUrl,
      ETH_GAS_PRICE: '0',
    }).finally(() => ended.abort())
    while (!ended.signal.aborted) {
      await passBlocks(base, 1)
      await sleep(300, ended.signal)
    }
    const { code, output } = await running
    assert.equal(code, 0, output)
    const [, publicId] = /^key ([0-9a-f]{8})$/m.exec(output) ?? []
    assert.ok(publicId !== undefined, output)
    assert.match(output, /^transaction 0x[0-9a-f]{64}$/m)
    assert.match(output, /^balance 0\.1\n\{.*"totalBurned".*\}\nbalance 0\.0999$/m)
  })

  const byHand = (variables: Readonly<Record<string, string>>) =>
    run('sh', [join(folder, 'prepay.sh')], {
      PRIVATE_KEY: world.devnet.wallets.holder.privateKey,
      API: world.origin,
      ETH_RPC_URL: world.base.rpcUrl,
      ETH_GAS_PRICE: '0',
      TIMEOUT: '3',
      ...variables,
    })

  for (const [failure, variables, told] of [
    [
      'a node of another chain',
      () => ({ ETH_RPC_URL: world.devnet.chains.ethereum.rpcUrl }),
      /serves chain 1, but payments are on base \(8453\)/,
    ],
    [
      'a wallet that holds too little',
      () => ({}),
      /holds 0 USD of 0x[0-9a-fA-F]{40}, the payment is 0\.1/,
    ],
  ] as const)
    test(`by hand: ${failure} is reported before any payment`, async () => {
      const { code, output } = await byHand({ CAST: NAMES_A_WALLET, ...variables() })
      assert.equal(code, 1, output)
      assert.match(output, told)
      assert.doesNotMatch(output, /^(key|transaction) /m)
    })

  test('by hand: a payment from another wallet ends with its status and message', async () => {
    const { base } = world
    const payer = generatePrivateKey()
    await fundWallet(base, { to: privateKeyToAccount(payer).address, amount: 200_000n })
    const place = mkdtempSync(join(tmpdir(), 'sexton-cast-'))
    after(() => rmSync(place, { recursive: true }))
    const astray = join(place, 'cast.sh')
    // The transfer is signed by a wallet that does not own the key.
    writeFileSync(
      astray,
      `[ "$1" = send ] && export PRIVATE_KEY=${payer}\nexec node ${join(folder, 'cast.js')} "$@"\n`,
    )
    const ended = new AbortController()
    const running = byHand({ CAST: `sh ${astray}`, TIMEOUT: '60' }).finally(() => ended.abort())
    while (!ended.signal.aborted) {
      await passBlocks(base, 1)
      await sleep(300, ended.signal)
    }
    const { code, output } = await running
    assert.equal(code, 1, output)
    assert.match(output, /^not verified: status unlinked, message payer_not_linked$/m)
  })
})

/** Runs a program with the Node of these tests first on its path. */
async function run(
  command: string,
  parameters: readonly string[],
  variables: Readonly<Record<string, string>>,
): Promise<{ readonly code: number | null; readonly output: string }> {
  const node = join(process.execPath, '..')
  const child = spawn(command, parameters, {
    env: { ...process.env, PATH: `${node}:${process.env.PATH}`, ...variables },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  const [code] = await once(child, 'close')
  return { code, output }
}
