import { x402Client } from '@x402/core/client'
import { decodePaymentResponseHeader, x402HTTPClient } from '@x402/core/http'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { privateKeyToAccount } from 'viem/accounts'

// npm install @x402/core @x402/evm viem
// PRIVATE_KEY=0x… node examples/agent.js [url]: no API key and no quota, only a wallet with USDC.
const url = process.argv[2] ?? 'http://localhost:4020/api/burns/total'
const account = privateKeyToAccount(process.env.PRIVATE_KEY)

// The service says on which chain and with which asset it is paid.
const { chains, pricing } = await (await fetch(new URL('/api/meta', url))).json()
const chain = chains.find(({ name }) => name === pricing?.network)
if (chain === undefined) throw new Error(`the service at ${url} takes no payments`)
const network = `eip155:${chain.chainId}`
const isAgreed = (offer) =>
  offer.network === network && offer.asset.toLowerCase() === pricing.asset.toLowerCase()
const client = new x402Client((_version, offers) => offers.find(isAgreed))
const http = new x402HTTPClient(client.register(network, new ExactEvmScheme(account)))

let answer = await fetch(url)
if (answer.status === 402) {
  const offered = http.getPaymentRequiredResponse((name) => answer.headers.get(name), {})
  const headers = http.encodePaymentSignatureHeader(await http.createPaymentPayload(offered))
  answer = await fetch(url, { headers })
}

if (answer.ok) process.stdout.write(`${JSON.stringify(await answer.json(), null, 2)}\n`)
else process.stderr.write(`${answer.status}: ${await reasonOf(answer)}\n`)
process.exitCode = answer.ok ? 0 : 1

/** A refused payment has its reason in the receipt, any other refusal in the body. */
async function reasonOf(answer) {
  const receipt = answer.headers.get('payment-response')
  if (receipt === null) return answer.text()
  const { errorReason, errorMessage } = decodePaymentResponseHeader(receipt)
  return `${errorReason}: ${errorMessage ?? (await answer.text())}`
}
