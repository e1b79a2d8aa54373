import { decodePaymentResponseHeader } from '@x402/core/http'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { createSIWxClientExtension } from '@x402/extensions/sign-in-with-x'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { privateKeyToAccount } from 'viem/accounts'

// PRIVATE_KEY=0x… node examples/agent.ts [url]: no API key and no quota, only a wallet with USDC.
const url = process.argv[2] ?? 'http://localhost:4020/api/burns/total'
const account = privateKeyToAccount(process.env.PRIVATE_KEY as `0x${string}`)

// The service says on which chain it is paid.
const meta = (await (await fetch(new URL('/api/meta', url))).json()) as {
  readonly pricing: { readonly network: string } | null
  readonly chains: readonly { readonly name: string; readonly chainId: number }[]
}
const chain = meta.chains.find(({ name }) => name === meta.pricing?.network)
if (chain === undefined) throw new Error(`the service at ${url} takes no payments`)
const client = new x402Client()
  .register(`eip155:${chain.chainId}`, new ExactEvmScheme(account))
  .registerExtension(createSIWxClientExtension({ signers: [account] }))
const pay = wrapFetchWithPayment(fetch, client)

const answer = await pay(url)
process.stdout.write(`${JSON.stringify(await answer.json(), null, 2)}\n`)
const receipt = answer.headers.get('payment-response')
if (!answer.ok && receipt !== null) {
  const { errorReason, errorMessage } = decodePaymentResponseHeader(receipt)
  process.stderr.write(`${errorReason}: ${errorMessage ?? 'see the answer'}\n`)
}
process.exitCode = answer.ok ? 0 : 1
