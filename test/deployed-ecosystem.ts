import {
  type Address,
  concatHex,
  encodeAbiParameters,
  getAddress,
  type Hex,
  parseAbiParameters,
  toHex,
} from 'viem'
import { sleep } from '#base/async.ts'
import { readArtifact } from '#contracts/artifact.ts'
import { type Call, calls } from '#devnet/calls.ts'
import { openRpc, type Rpc } from '#devnet/rpc.ts'
import { units } from '#devnet/units.ts'

/** An ecosystem on a chain that knows nothing of the local one. */
export interface DeployedEcosystem {
  readonly token: Address
  readonly usdc: Address
  readonly distributor: Address
  readonly graveyard: Address
  readonly holders: readonly Address[]
  /** Of the token, and of its quote. */
  readonly pools: readonly Address[]
  readonly rpc: Rpc
  send(call: Call): Promise<void>
}

const DEAD = '0x000000000000000000000000000000000000dEaD'

/** Deploys token, pools, distributor and graveyard, and uses each a few times. */
export async function deployEcosystem(url: string): Promise<DeployedEcosystem> {
  const rpc = openRpc(url)
  const accounts = (await rpc.send({ method: 'eth_accounts' })) as Address[]
  const [operator, ...holders] = accounts.slice(0, 5).map((each) => getAddress(each))
  if (operator === undefined) throw new Error('the node has no accounts')
  const create = (name: string, types = '', values: readonly unknown[] = []) =>
    createContract(rpc, operator, creationOf(name, types, values))
  const send = async (call: Call) => void (await sendCall(rpc, call))
  const supply = ['Headstone', 'HEAD', operator, units(1_000_000)]
  const token = await create('EcosystemToken', 'string,string,address,uint256', supply)
  const weth = await create('WrappedEther')
  const usdc = await create('UsdCoin')
  const distributor = await create('DividendDistributor')
  const graveyard = await create('Graveyard', 'address', [token])
  const factory = await create('UniswapV2Factory', 'address', [operator])
  await send(calls.initialize({ token: usdc, from: operator, minter: operator }))
  await send(calls.mint({ token: usdc, from: operator, to: operator, amount: units(1_000_000, 6) }))
  await send(calls.wrap({ weth, from: operator, amount: units(20) }))
  const pool = { rpc, factory, from: operator, send }
  const pools = [
    await fillPool(pool, { token, amount: units(10_000) }, { token: weth, amount: units(10) }),
    await fillPool(
      pool,
      { token: weth, amount: units(5) },
      { token: usdc, amount: units(15_000, 6) },
    ),
  ]
  await send(calls.transfer({ token, from: operator, to: graveyard, amount: units(50_000) }))
  for (const [index, to] of holders.entries())
    await send(calls.transfer({ token, from: operator, to, amount: units(1_000 * (index + 1)) }))
  const ecosystem = { token, usdc, distributor, graveyard, holders, pools, rpc, send }
  await payDividends(ecosystem, operator)
  await burnAndDig(ecosystem)
  return ecosystem
}

async function payDividends(
  { usdc: token, distributor, holders, send }: DeployedEcosystem,
  from: Address,
): Promise<void> {
  const amounts = holders.map((_, index) => units(10 * (index + 1), 6))
  const amount = amounts.reduce((sum, each) => sum + each, 0n)
  await send(calls.approveAll({ token, from, spender: distributor }))
  await send(calls.distribute({ distributor, from, token, amount }))
  await send(calls.credit({ distributor, from, token, accounts: holders, amounts }))
  for (const [index, account] of holders.entries())
    await send(calls.claim({ distributor, account, token, amount: amounts[index] ?? 0n }))
}

export async function burnAndDig(ecosystem: DeployedEcosystem): Promise<void> {
  const { token, graveyard, holders, send } = ecosystem
  for (const [index, from] of holders.entries()) {
    await send(calls.burn({ token, from, amount: units(index + 1) }))
    await send(calls.transfer({ token, from, to: DEAD, amount: units(2 * (index + 1)) }))
    await send(calls.dig({ graveyard, digger: from, amount: units(100 + index) }))
  }
}

interface Side {
  readonly token: Address
  readonly amount: bigint
}

/** Creates a pair of two tokens, and gives it both. */
export async function fillPool(
  {
    rpc,
    factory,
    from,
    send,
  }: { rpc: Rpc; factory: Address; from: Address; send(call: Call): Promise<void> },
  first: Side,
  second: Side,
): Promise<Address> {
  await send(calls.createPair({ factory, from, tokens: [first.token, second.token] }))
  const pair = await lastPair(rpc, factory)
  for (const { token, amount } of [first, second])
    await send(calls.transfer({ token, from, to: pair, amount }))
  await send(calls.addLiquidity({ pair, from }))
  return pair
}

async function lastPair(rpc: Rpc, factory: Address): Promise<Address> {
  const params = [{ address: factory, fromBlock: '0x0', toBlock: 'latest' }]
  const logs = (await rpc.send({ method: 'eth_getLogs', params })) as { data: Hex }[]
  return getAddress(`0x${logs.at(-1)?.data.slice(26, 66)}`)
}

/** Creation code with the values of the constructor. */
export function creationOf(name: string, types: string, values: readonly unknown[]): Hex {
  const { bytecode } = readArtifact(name)
  if (types === '') return bytecode
  return concatHex([bytecode, encodeAbiParameters(parseAbiParameters(types), values)])
}

export async function createContract(rpc: Rpc, from: Address, data: Hex): Promise<Address> {
  const { contractAddress } = await sendCall(rpc, { from, data })
  return getAddress(contractAddress ?? '0x')
}

interface Receipt {
  readonly status: Hex
  readonly contractAddress: Address | null
}

export async function sendCall(rpc: Rpc, { value, ...call }: Call): Promise<Receipt> {
  const gasPrice = await rpc.send({ method: 'eth_gasPrice' })
  const limits = { gas: toHex(5_000_000), gasPrice }
  const transaction = { ...call, ...limits, ...(value && { value: toHex(value) }) }
  const hash = await rpc.send({ method: 'eth_sendTransaction', params: [transaction] })
  const ask = () => rpc.send({ method: 'eth_getTransactionReceipt', params: [hash] })
  let receipt = (await ask()) as Receipt | null
  // Anvil answers before the block is made.
  for (let waitedMs = 0; receipt === null && waitedMs < MINED_MS; waitedMs += 5) {
    await sleep(5)
    receipt = (await ask()) as Receipt | null
  }
  if (receipt?.status !== '0x1') throw new Error(`the transaction ${hash} failed`)
  return receipt
}

const MINED_MS = 5_000
