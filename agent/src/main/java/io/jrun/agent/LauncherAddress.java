package io.jrun.agent;

/**
 * One of the launcher's addresses.
 *
 * @param host a name or a numeric address
 */
public record LauncherAddress(String host, int port) {
    /** The address in the form of options: an IPv6 address has brackets. */
    @Override
    public String toString() {
        return (host.contains(":") ? "[" + host + "]" : host) + ":" + port;
    }
}
