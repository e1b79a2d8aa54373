export function WalletPage(_: { readonly address: string }) {
  return null
}
