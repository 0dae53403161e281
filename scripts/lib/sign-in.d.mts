export function offerSignIn(
  adminKey: string,
  options?: { validity?: number },
): Promise<{ code: string; address: string; close: () => void }>
