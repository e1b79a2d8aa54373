import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { type Address, zeroAddress } from 'viem'
import { readConfig } from '#config.ts'
import { accounts, addresses } from '#devnet/addresses.ts'
import { parseEcosystem } from '#ecosystem/load-ecosystem.ts'
import { localFile } from '#main/local-chains.ts'
import { logOf } from '#test/chain-builder/log-plans.ts'
import { serveChain } from '#test/chain-builder/serve-chain.ts'
import { localEcosystemAt } from '#test/indexed-ecosystem.ts'
import { startLyingNode } from '#test/lying-node.ts'
import { startPostgres } from '#test/postgres.ts'
import { startOwnDevnet } from '#test/start-own-devnet.ts'
import { baseWith, onBase } from '#test/token-world.ts'
import { checkDatabase, checkEndpoints, checkFile } from './check-file.ts'

const folder = await mkdtemp(join(tmpdir(), 'sexton-check-'))
after(() => rm(folder, { recursive: true }))

test('check names an endpoint of another chain and one that is silent, though a third one is right', async () => {
  const node = await serveChain(baseWith())
  const other = await startLyingNode(node.url)
  other.lie = ({ method }, result) => (method === 'eth_chainId' ? '0x7' : result)
  try {
    const { file } = localEcosystemAt({ base: node.url }, onBase)
    const rpcUrls = [node.url, other.url, 'http://127.0.0.1:9']
    const { chains } = parseEcosystem('file.json', {
      ...file,
      chains: file.chains.map((chain) => ({ ...chain, rpcUrls, staleAfterSeconds: 1e9 })),
    })
    const [second, third, ...more] = await checkEndpoints(chains, Date.now)
    assert.deepEqual(second, {
      field: 'chains[0].rpcUrls[1]',
      message: 'serves chain 7, the file says 8453; correct the URL or the id',
      isUsable: false,
    })
    assert.match(third?.message ?? '', /^does not answer \(.*ECONNREFUSED.*\); check the URL/)
    assert.deepEqual(more, [])
  } finally {
    await other.stop()
    await node.stop()
  }
})

test('check names settings of PostgreSQL that may lose acknowledged debits', async (context) => {
  // The tests' own server need not survive a power loss.
  const server = await startPostgres()
  context.after(() => server.stop())
  const url = await server.createDatabase()
  const found = await checkDatabase(readConfig({ SEXTON_DATABASE_URL: url }, { isTty: false }))
  assert.deepEqual(found.map(({ message }) => message).sort(), [
    'fsync is off: a power loss would lose debits',
    'full_page_writes is off: a power loss could damage tables',
    'synchronous_commit is off: a debit must outlive a crash',
  ])
})

test('check says which of the newest logs add nothing, such as payouts of the coin that is not listed', async () => {
  const { distributor, grave } = addresses.base
  const { holder } = accounts
  const coin: Address = '0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee'
  const node = await serveChain(
    baseWith(...[grave, coin, coin].map((paid) => [logOf.claim(distributor, holder, paid, 5n)])),
  )
  try {
    const { file } = localEcosystemAt({ base: node.url }, onBase)
    const { warnings } = await checkWritten(file)
    assert.deepEqual(
      warnings.filter(({ message }) => message.includes('of the last')),
      [
        {
          field: 'dividends[0]',
          message: `2 of the last 3 logs: not counted, reported as an anomaly: token ${zeroAddress} is not listed for chain base`,
        },
      ],
    )
  } finally {
    await node.stop()
  }
})

test('check doubts an event that the contract does not have, and takes all that the local contracts emit', async () => {
  const devnet = await startOwnDevnet()
  try {
    const { base, ethereum } = devnet.chains
    const file = localFile(4020, { base: base.rpcUrl, ethereum: ethereum.rpcUrl })
    const { errors } = await checkWritten(file)
    assert.deepEqual(errors, [])
    const digs = file.graveDigs ?? []
    const renamed = digs.map((each) => ({ ...each, event: each.event.replace('GraveDug', 'Dug') }))
    const checked = await checkWritten({ ...file, graveDigs: renamed })
    assert.match(
      checked.warnings.map(({ field, message }) => `${field}: ${message}`).join('\n'),
      /^graveDigs\[0\]: no log in blocks 0 to \d+ matches; check event, address and "where"/,
    )
  } finally {
    await devnet.stop()
  }
})

async function checkWritten(file: object) {
  const path = join(folder, 'written.json')
  await writeFile(path, JSON.stringify(file))
  return checkFile(Date.now, { file: path, offline: false, onProgress() {} })
}

test('check says of a first block ahead of the node only that', async () => {
  const node = await serveChain(baseWith())
  try {
    const { file } = localEcosystemAt({ base: node.url }, onBase)
    const chains = file.chains.map((chain) => ({ ...chain, startBlock: 9e6 }))
    const { errors } = await checkWritten({ ...file, chains })
    assert.match(
      errors.map(({ field, message }) => `${field}: ${message}`).join('\n'),
      /^chains\[0\]\.rpcUrls\[0\]: its head is block \d+, below startBlock 9000000; correct startBlock.*$/,
    )
  } finally {
    await node.stop()
  }
})

test('check says of silent chains only that they are silent', async () => {
  const { file } = localEcosystemAt({ base: 'http://127.0.0.1:9' }, onBase)
  const { errors, warnings, unchecked } = await checkWritten(file)
  assert.deepEqual(
    errors.map(({ field }) => field),
    ['chains[0].rpcUrls[0]'],
  )
  assert.deepEqual([warnings, unchecked], [[], ['all else about the chains: base cannot be asked']])
})
