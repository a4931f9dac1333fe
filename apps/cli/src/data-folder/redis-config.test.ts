import { describe, expect, it } from "vitest";
import { dataFolderAt } from "./data-folder.js";
import { drawPassword, parseRedisConfig, renderRedisConfig, urlOf } from "./redis-config.js";

describe("the configuration of the private Redis", () => {
  it("says where and how to reach it, and is read back as it was written", () => {
    const address = { port: 40_123, password: drawPassword() };

    const text = renderRedisConfig(dataFolderAt("/tmp/data"), address);

    expect(parseRedisConfig(text)).toEqual(address);
    expect(urlOf(address)).toBe(`redis://:${address.password}@127.0.0.1:40123`);
  });

  it("keeps a path with quotes, spaces and backslashes in one word", () => {
    const text = renderRedisConfig(dataFolderAt('/tmp/a "b\\c'), { port: 1, password: drawPassword() });

    expect(text).toContain('dir "/tmp/a \\"b\\\\c/redis"');
  });

  it("of another server is not taken for one of ours", () => {
    expect(parseRedisConfig("port 6379\nrequirepass hunter2\n")).toBeNull();
    expect(parseRedisConfig("")).toBeNull();
  });
});
