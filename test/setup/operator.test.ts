import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { sleep } from '#base/async.ts'
import { freePort } from '#base/free-port.ts'
import { burnAndDig, type DeployedEcosystem, deployEcosystem } from '../deployed-ecosystem.ts'
import { countTransfers, countWords } from '../independent-count.ts'
import { nodeEnvironment } from '../node-environment.ts'
import { type PlainChain, startPlainChain } from '../plain-chain.ts'
import { runCommand, startCommand } from '../run-command.ts'

const PROGRAM = join(import.meta.dirname, '../../src/ops/cli/sexton.mjs')
const ENVIRONMENT = { SEXTON_METRICS_PORT: 'off', LOG_LEVEL: 'warn' }
const ZERO = '0x0000000000000000000000000000000000000000'
const DEAD = '0x000000000000000000000000000000000000dead'
const DIG_EVENT = 'event GraveDug(address indexed digger, uint256 indexed graveId, uint256 amount)'

describe('an operator of a token on a chain that no table knows', () => {
  let node: PlainChain
  let deployed: DeployedEcosystem
  let folder: string
  let file: string
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sexton-operator-'))
    file = join(folder, 'sexton.config.ts')
    // As "npm install" leaves it: without a type.
    await writeFile(join(folder, 'package.json'), '{}')
    node = await startPlainChain(Math.floor(Date.now() / 1_000))
    deployed = await deployEcosystem(node.url)
  })
  after(async () => {
    await node?.stop()
    await rm(folder, { recursive: true, force: true })
  })

  test('init finds token and pools, and the operator adds the rest', async () => {
    const { token, pools, distributor, graveyard } = deployed
    const payTo = '0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65'
    const named = ['--contract', ...pools, distributor, graveyard]
    const request = ['init', token, '--rpc', node.url, '--pay-to', payTo, '--yes', ...named]
    const { code, output } = await sexton(folder, ...request)
    assert.equal(code, 0, output)
    const text = await readFile(file, 'utf8')
    for (const words of [
      /symbol: 'HEAD'/,
      /\/\/ the block of its creation[^\n]*\n\s+startBlock: 1,/,
      /kind: 'uniswap-v2'/,
      /domain: {\n\s+name: 'USD Coin',\n\s+version: '2',/,
    ])
      assert.match(text, words)
    await writeFile(file, text.replace('  burns: [', `${mappingsOf(deployed)}  burns: [`))
  })

  test('a second init does not overwrite the file', async () => {
    const request = ['init', deployed.token, '--rpc', node.url, '--yes', '--output', file]
    const { code, stderr } = await runCommand(request)
    assert.equal(code, 2)
    assert.match(stderr, /sexton\.config\.ts exists already.*--force/)
  })

  test('init names the option that is wrong before it asks the chains', async () => {
    const refuses = async (expected: RegExp, ...options: readonly string[]) => {
      const request = ['init', deployed.token, '--rpc', node.url, '--yes', ...options]
      const { code, stderr } = await runCommand(request)
      assert.equal(code, 2, stderr)
      assert.match(stderr, expected)
    }
    await refuses(
      /--rpc: not an http\(s\) URL: "base.example"; write https/,
      '--rpc',
      'base.example',
    )
    await refuses(/--output no\/x.ts: there is no folder no; make it/, '--output', 'no/x.ts')
    await refuses(/--output x.yaml: .*end it in .ts or .json/, '--output', 'x.yaml')
  })

  test('check agrees', async () => {
    const check = await sexton(folder, 'check', '--json')
    assert.equal(check.code, 0, check.output)
    assert.doesNotMatch(check.output, /Warning/)
  })

  test('check finds events that cannot be read, swapped arguments and a wrong recipient', async () => {
    const right = await readFile(file, 'utf8')
    let tries = 0
    const checkWith = async (from: string, to: string) => {
      tries += 1
      const wrong = join(folder, `wrong-${tries}.config.ts`)
      assert.ok(right.includes(from), from)
      await writeFile(wrong, right.replace(from, to))
      const { code, stdout } = await runCommand(['check', '--json', '-e', wrong], ENVIRONMENT)
      const { errors, warnings } = JSON.parse(stdout)
      return { code, found: [...errors, ...warnings] }
    }
    const unread = await checkWith(
      'DividendClaimed(address indexed account, address indexed token,',
      'DividendClaimed(address indexed account, address token,',
    )
    assert.equal(unread.code, 1)
    assert.deepEqual(unread.found, [
      {
        field: 'dividends[0].event',
        message:
          '4 of the last 4 logs have 2 indexed arguments, the event has 1; write "indexed" as the contract does',
      },
    ])
    const swapped = await checkWith(
      "from: 'from',\n      to: 'to',",
      "from: 'to',\n      to: 'from',",
    )
    assert.match(JSON.stringify(swapped.found), /are the arguments swapped\?/)
    const wrong = await checkWith("recipient: 'account'", "recipient: 'token'")
    assert.match(
      JSON.stringify(wrong.found),
      /names the same account.*is the argument the right one/,
    )
  })

  test('start serves figures that equal an independent count, and follows new blocks', async () => {
    const service = await startService(folder)
    try {
      await compare(service.url, deployed)
      await burnAndDig(deployed)
      await compare(service.url, deployed)
    } finally {
      await service.stop()
    }
  })
})

function mappingsOf({ distributor, graveyard }: DeployedEcosystem): string {
  return `  dividends: [
    {
      chain: 'chain-31337',
      address: '${distributor}',
      event: 'event DividendClaimed(address indexed account, address indexed token, uint256 amount)',
      kind: 'claim',
      recipient: 'account',
      tokenArgument: 'token',
      amount: 'amount',
    },
  ],
  graveDigs: [
    {
      chain: 'chain-31337',
      address: '${graveyard}',
      event: '${DIG_EVENT}',
      token: 'HEAD',
      digger: 'digger',
      graveId: 'graveId',
      amount: 'amount',
    },
  ],
`
}

async function compare(
  url: string,
  { token, usdc, rpc, distributor, graveyard }: DeployedEcosystem,
) {
  const { data } = await untilAt(url, await headOf(rpc))
  const burnt = await countTransfers(rpc, { token, to: [ZERO, DEAD] })
  assert.ok(burnt.count > 0)
  assert.equal(data.totalBurnedRaw, burnt.amount.toString())
  const all = await countTransfers(rpc, { token })
  all.holders.delete(DEAD)
  assert.equal(data.holderCount, all.holders.size)
  const paid = await countTransfers(rpc, { token: usdc, from: distributor })
  assert.deepEqual(
    data.lifetimeDividends.map((each: { amountRaw: string }) => each.amountRaw),
    [paid.amount.toString()],
  )
  const dug = await countWords(rpc, graveyard)
  assert.deepEqual(
    [data.graveDigs.count, data.graveDigs.totalClaimedRaw],
    [dug.count, dug.sum.toString()],
  )
  // 15,000 USDC against 5 WETH, and 10 WETH against 10,000 tokens.
  assert.equal(data.prices.HEAD.usd, 3)
}

async function headOf(rpc: DeployedEcosystem['rpc']): Promise<number> {
  return Number(await rpc.send({ method: 'eth_blockNumber' }))
}

async function untilAt(url: string, block: number) {
  for (;;) {
    const answer = await fetch(`${url}/api/stats`)
    const { data, meta } = JSON.parse(await answer.text())
    if (answer.status === 200 && meta.chains[0].blockNumber >= block) return { data }
    await sleep(50)
  }
}

interface Ended {
  readonly code: number | null
  readonly printed: string
  readonly output: string
}

/** As a program that is started in the folder. */
async function sexton(folder: string, ...parameters: readonly string[]): Promise<Ended> {
  const child = spawn(process.execPath, [PROGRAM, ...parameters], {
    cwd: folder,
    env: { ...nodeEnvironment, ...ENVIRONMENT },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const texts = { printed: '', errors: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    texts.printed += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    texts.errors += text
  })
  const [code] = await once(child, 'close')
  return { code, printed: texts.printed, output: texts.printed + texts.errors }
}

async function startService(folder: string) {
  const port = String(await freePort())
  const flags = ['--port', port, '-e', join(folder, 'sexton.config.ts'), '-d', folder]
  const { words, ended, stop } = startCommand(['start', ...flags], ENVIRONMENT)
  const failed = ended.then(({ stderr }) => assert.fail(stderr))
  const url = `http://127.0.0.1:${port}`
  while (!words().includes('Sexton is ready')) await Promise.race([sleep(50), failed])
  failed.catch(() => undefined)
  return {
    url,
    async stop() {
      const { code, stderr } = await stop()
      assert.equal(code, 0, stderr)
    },
  }
}
