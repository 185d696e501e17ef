package io.jrun.agent;

/**
 * One of the launcher's addresses.
 *
 * @param host a name or a numeric address
 */
public record LauncherAddress(String host, int port) {
    /** As it is written in an option: an IPv6 address in brackets. */
    @Override
    public String toString() {
        return (host.contains(":") ? "[" + host + "]" : host) + ":" + port;
    }
}
