/** On every answer: what answers here is a Railhead, and this is the version of its API. */
export const API_HEADER = 'x-railhead-api';
export const API_VERSION = 'v1';
