export interface Finding {
  name: string;
  status: 'ok' | 'warn' | 'fail';
  message: string;
  /** What to do about it. */
  fix?: string;
}
