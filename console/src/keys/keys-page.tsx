import type { Service } from 'sexton-client'
export function KeysPage(_: { readonly service: Service }) {
  return null
}
