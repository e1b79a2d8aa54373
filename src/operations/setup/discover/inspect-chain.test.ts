import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { type Address as Checksummed, encodeFunctionData, type Hex, parseAbi } from 'viem'
import { parseEcosystem } from '#chains/ecosystem/load-ecosystem.ts'
import { calls } from '#devnet/calls.ts'
import { units } from '#devnet/units.ts'
import { ZERO_ADDRESS } from '#domain/address.ts'
import {
  createContract,
  creationOf,
  deployEcosystem,
  fillPool,
  sendCall,
} from '#test/deployed-ecosystem.ts'
import { startPlainChain } from '#test/plain-chain.ts'
import { draftFor } from '#test/setup/draft-harness.ts'

const chain = await startPlainChain(1_700_000_000)
after(() => chain.stop())
const deployed = await deployEcosystem(chain.url)
const { token, usdc, rpc } = deployed
const [from] = (await rpc.send({ method: 'eth_accounts' })) as Checksummed[]
assert.ok(from !== undefined)

const draft = (address: Checksummed = token, more: readonly Checksummed[] = []) =>
  draftFor(chain.url, address, more)

test('a pool is drafted with a tenth of its dollars as the floor, and each floor has its evidence', async () => {
  const { file, notes } = await draft()
  const prices = file.tokens.map(({ price }) => price)
  const floors = prices.map((price) => (Array.isArray(price) ? [] : price?.minLiquidityUsd))
  // 60,000 USD in HEAD/WETH, 30,000 in WETH/USDC; USDC is fixed.
  assert.deepEqual(floors, ['6000', '3000', undefined])
  assert.match(
    notes.get('tokens[0].price.minLiquidityUsd') ?? '',
    /^a tenth of what the pool holds, rounded down: its event in block \d+ shows about 60000 USD in it$/,
  )
})

test('a deeper pool without a readable event is not taken for the price', async () => {
  const pancake = await createContract(
    rpc,
    from,
    creationOf('PancakeV3Pool', 'address,address', [token, usdc]),
  )
  await sendCall(rpc, calls.transfer({ token: usdc, from, to: pancake, amount: units(90_000, 6) }))
  await sendCall(rpc, calls.transfer({ token, from, to: pancake, amount: units(30_000) }))
  const data = encodeFunctionData({ abi: parseAbi(['function swap()']) })
  await sendCall(rpc, { from, to: pancake, data })
  const { file } = await draft(token, [pancake])
  const [price] = [file.tokens[0]?.price ?? []].flat()
  assert.equal(price?.kind, 'uniswap-v2')
})

test('shares of a vault burn when they are redeemed: the draft asks instead of counting them', async () => {
  const vault = await createContract(rpc, from, creationOf('ShareVault', 'address', [usdc]))
  const abi = parseAbi([
    'function deposit(uint256, address)',
    'function redeem(uint256, address, address)',
  ])
  const act = (data: Hex) => sendCall(rpc, { from, to: vault, data })
  await sendCall(rpc, calls.approveAll({ token: usdc, from, spender: vault }))
  await act(encodeFunctionData({ abi, functionName: 'deposit', args: [units(100, 6), from] }))
  await act(encodeFunctionData({ abi, functionName: 'redeem', args: [units(40, 6), from, from] }))
  const redeemed = await draft(vault)
  assert.equal(redeemed.file.burns, undefined)
  const [price] = [redeemed.file.tokens[0]?.price ?? []].flat()
  assert.deepEqual(price, { kind: 'erc4626', chain: price?.chain, address: vault, quote: 'USDC' })
  const [question] = redeemed.questions
  assert.match(
    question?.text ?? '',
    /^SHARE is a share of a vault of 0x.* \(ERC-4626\).*1 transfer to/,
  )
  assert.deepEqual(Object(question?.entry).where, { to: ZERO_ADDRESS })
  const dead = '0x000000000000000000000000000000000000dEaD'
  await sendCall(rpc, calls.transfer({ token: vault, from, to: dead, amount: units(5, 6) }))
  const { file } = await draft(vault)
  const { burns } = parseEcosystem('draft', file)
  assert.deepEqual(
    burns.map(({ where }) => [...(where.get('to') ?? [])]),
    [[dead.toLowerCase()]],
  )
})

test('a token whose pool is younger than its history is drafted with the pool before it', async () => {
  const moved = await newToken('Moved')
  const factories = [await newFactory(), await newFactory()]
  const fill = (factory: Checksummed | undefined, dollars: number) =>
    fillPool(
      {
        rpc,
        factory: factory ?? '0x',
        from,
        send: async (call) => void (await sendCall(rpc, call)),
      },
      { token: moved, amount: units(10_000) },
      { token: usdc, amount: units(dollars, 6) },
    )
  const older = await fill(factories[0], 4_000)
  await rpc.send({ method: 'anvil_mine', params: ['0x10'] })
  const before = Number(await rpc.send({ method: 'eth_blockNumber' }))
  const newer = await fill(factories[1], 20_000)
  const { file, notes } = await draft(moved)
  const { primary } = parseEcosystem('draft', file)
  assert.deepEqual(
    primary.prices.map((price) => price.chain && [price.address, price.floor]),
    [
      [older.toLowerCase(), 800_000_000n],
      [newer.toLowerCase(), 4_000_000_000n],
    ],
  )
  const since = primary.prices[1]?.since
  assert.ok(since && 'block' in since && since.block > before, JSON.stringify(since))
  assert.match(
    notes.get('tokens[0].price[0]') ?? '',
    /^the deepest pool before block \d+, the first event of the next: about 4000 USD of USDC in it$/,
  )
})

function newFactory(): Promise<Checksummed> {
  assert.ok(from !== undefined)
  return createContract(rpc, from, creationOf('UniswapV2Factory', 'address', [from]))
}

test('a bridge is drafted from its events beside mints and burns of more than 0; an unknown event is asked about', async () => {
  const bridged = await newToken('Bridged')
  const [bridge, furnace] = [await newBridge(bridged), await newBridge(bridged)]
  const abi = parseAbi([
    'function transferOwnership(address)',
    'function receiveRemote(uint256)',
    'function send(uint256)',
    'function teleport(uint256)',
  ])
  const act = (
    to: Checksummed,
    functionName: 'receiveRemote' | 'send' | 'teleport',
    amount: bigint,
  ) => sendCall(rpc, { from, to, data: encodeFunctionData({ abi, functionName, args: [amount] }) })
  const handOver = encodeFunctionData({ abi, functionName: 'transferOwnership', args: [bridge] })
  await sendCall(rpc, { from, to: bridged, data: handOver })
  for (const spender of [bridge, furnace])
    await sendCall(rpc, calls.approveAll({ token: bridged, from, spender }))
  for (const amount of [7n, 8n, 9n].map((each) => each * units(1))) {
    await act(bridge, 'receiveRemote', amount)
    await act(bridge, 'send', amount + 1n)
    await act(furnace, 'teleport', amount + 2n)
    await sendCall(rpc, calls.burn({ token: bridged, from, amount }))
  }
  for (let count = 0; count < 4; count += 1) {
    await act(bridge, 'receiveRemote', 0n)
    await act(bridge, 'send', 0n)
  }
  const { file, notes, questions } = await draft(bridged)
  const { bridges } = parseEcosystem('draft', file)
  assert.deepEqual(
    bridges.map(({ address, event }) => [address, event.name]),
    [
      [bridge.toLowerCase(), 'ReceivedTransferRemote'],
      [bridge.toLowerCase(), 'SentTransferRemote'],
    ],
  )
  assert.match(
    notes.get('tokens[0].bridges[1]') ?? '',
    /^stands beside 3 of the 3 burns in its transactions, with their amount \(blocks \d+ to \d+\)/,
  )
  assert.deepEqual(questions.map(({ path, text }) => [path, text.slice(0, 42)]).slice(0, 1), [
    ['tokens[0].bridges', furnace],
  ])
})

test('two events beside burns are too few for a bridge, and named as unread', async () => {
  const token = await newToken('Few')
  const furnace = await newBridge(token)
  const abi = parseAbi(['function send(uint256)'])
  await sendCall(rpc, calls.approveAll({ token, from, spender: furnace }))
  for (const amount of [7n, 8n])
    await sendCall(rpc, { from, to: furnace, data: encodeFunctionData({ abi, args: [amount] }) })
  const { file, questions, remarks } = await draft(token, [furnace])
  assert.deepEqual(
    [file.tokens[0]?.bridges, questions.map(({ path }) => path)],
    [undefined, ['gate']],
  )
  const seen = new RegExp(
    `${furnace} emits \\S+ 2 times on chain-\\d+ in .*: nothing in the file reads them`,
  )
  assert.match(remarks.join('\n'), seen)
})

test('contracts that emit the same events are named in one line, with where a factory would go', async () => {
  const token = await newToken('Potted')
  const pots = [await newBridge(token), await newBridge(token), await newBridge(token)]
  const abi = parseAbi(['function send(uint256)'])
  for (const pot of pots) {
    await sendCall(rpc, calls.approveAll({ token, from, spender: pot }))
    await sendCall(rpc, { from, to: pot, data: encodeFunctionData({ abi, args: [7n] }) })
  }
  const { remarks } = await draft(token, pots)
  const told = remarks.filter((each) => pots.some((pot) => each.includes(pot)))
  assert.equal(told.length, 1)
  assert.match(told[0] ?? '', /^3 contracts \(0x.*\) emit \S+ 3 times on .*as contracts\.factory$/)
})

function newToken(name: string): Promise<Checksummed> {
  assert.ok(from !== undefined)
  const values = [name, name.toUpperCase(), from, units(1_000_000)]
  return createContract(
    rpc,
    from,
    creationOf('EcosystemToken', 'string,string,address,uint256', values),
  )
}

function newBridge(of: Checksummed): Promise<Checksummed> {
  assert.ok(from !== undefined)
  return createContract(rpc, from, creationOf('TokenBridge', 'address', [of]))
}
