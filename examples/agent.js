import { x402Client } from '@x402/core/client'
import { decodePaymentResponseHeader, x402HTTPClient } from '@x402/core/http'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { privateKeyToAccount } from 'viem/accounts'
import { createSiweMessage } from 'viem/siwe'

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
  const headers = await signIn(offered.extensions?.['sign-in-with-x']?.info)
  // What is left of an earlier payment is spent first.
  if (headers !== undefined) answer = await fetch(url, { headers })
  if (answer.status === 402) {
    const payment = http.encodePaymentSignatureHeader(await http.createPaymentPayload(offered))
    answer = await fetch(url, { headers: { ...headers, ...payment } })
  }
}

if (answer.ok) process.stdout.write(`${JSON.stringify(await answer.json(), null, 2)}\n`)
else process.stderr.write(`${answer.status}: ${await reasonOf(answer)}\n`)
process.exitCode = answer.ok ? 0 : 1

/** The balance then belongs to the wallet, wherever it calls from. Only for the service that was asked. */
async function signIn(info) {
  if (info === undefined) return undefined
  const { host, origin } = new URL(url)
  if (info.domain !== host || new URL(info.uri).origin !== origin)
    throw new Error(`the service at ${origin} asks for a sign-in at ${info.domain}, ${info.uri}`)
  const [issuedAt, expirationTime] = [new Date(info.issuedAt), new Date(info.expirationTime)]
  const { address } = account
  const fields = { ...info, address, issuedAt, expirationTime }
  const message = createSiweMessage({ ...fields, chainId: chain.chainId })
  const signature = await account.signMessage({ message })
  const signed = { ...fields, chainId: network, type: 'eip191', signature }
  return { 'SIGN-IN-WITH-X': btoa(JSON.stringify(signed)) }
}

/** A refused payment has its reason in the receipt, any other refusal in the body. */
async function reasonOf(answer) {
  const receipt = answer.headers.get('payment-response')
  if (receipt === null) return answer.text()
  const { errorReason, errorMessage } = decodePaymentResponseHeader(receipt)
  return `${errorReason}: ${errorMessage ?? (await answer.text())}`
}
