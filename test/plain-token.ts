import { createRequire } from 'node:module'
import { type Address, type Hex, parseEther } from 'viem'
import { calls } from '#devnet/calls.ts'
import { openRpc, type Rpc } from '#devnet/rpc.ts'
import { createContract, sendCall } from './deployed-ecosystem.ts'

const DEAD = '0x000000000000000000000000000000000000dEaD'

/** Uniswap's own EIP-20 token, whose bytecode runs on any fork: some holders and burns. */
export async function deployPlainToken(
  url: string,
): Promise<{ readonly token: Address; readonly rpc: Rpc }> {
  const rpc = openRpc(url)
  const [from, ...others] = (await rpc.send({ method: 'eth_accounts' })) as Address[]
  if (from === undefined) throw new Error('the node has no accounts')
  const published: { bytecode: string } = createRequire(import.meta.url)(
    '@uniswap/v2-core/build/ERC20.json',
  )
  const supply = parseEther('1000').toString(16).padStart(64, '0')
  const token = await createContract(rpc, from, `0x${published.bytecode}${supply}` as Hex)
  for (const to of [...others.slice(0, 3), DEAD] as const)
    await sendCall(rpc, calls.transfer({ token, from, to, amount: parseEther('7') }))
  return { token, rpc }
}
