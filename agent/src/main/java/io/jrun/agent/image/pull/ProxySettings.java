package io.jrun.agent.image.pull;

import io.jrun.agent.container.ContainerException;
import java.net.URI;
import java.net.URISyntaxException;
import java.util.Arrays;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Gives the JVM the proxies of the variables https_proxy, http_proxy and no_proxy. curl and Enroot use the same
 * variables. Stateless.
 */
final class ProxySettings {
    private ProxySettings() {}

    /** @throws ContainerException if a variable names no proxy, or a proxy with a password */
    static void apply(Map<String, String> environment) throws ContainerException {
        for (String scheme : new String[] {"https", "http"}) {
            String proxy = variable(environment, scheme + "_proxy");
            if (proxy.isEmpty()) {
                continue;
            }
            URI uri = uri(proxy, scheme + "_proxy");
            System.setProperty(scheme + ".proxyHost", uri.getHost());
            System.setProperty(scheme + ".proxyPort", Integer.toString(uri.getPort() < 0 ? 80 : uri.getPort()));
        }
        String direct = Arrays.stream(variable(environment, "no_proxy").split(",", -1))
                .map(String::strip)
                .filter(host -> !host.isEmpty())
                .map(ProxySettings::pattern)
                .collect(Collectors.joining("|"));
        System.setProperty("http.nonProxyHosts", "localhost|127.*|[::1]" + (direct.isEmpty() ? "" : "|" + direct));
    }

    /** The messages do not show the value, because the value may contain a password. */
    private static URI uri(String proxy, String name) throws ContainerException {
        try {
            URI uri = new URI(proxy.contains("://") ? proxy : "http://" + proxy);
            if (uri.getUserInfo() != null) {
                throw new ContainerException("the variable " + name + " has a password for the proxy, which jrun cannot"
                        + " give; name a proxy without a password, or bring the image to the node as an archive");
            }
            if ("http".equals(uri.getScheme()) && uri.getHost() != null) {
                return uri;
            }
        } catch (URISyntaxException e) {
            // The next line reports the variable.
        }
        throw new ContainerException(
                "the variable " + name + " is not the address of an HTTP proxy; write http://HOST:PORT");
    }

    /** As curl: a name stands for the host and for all hosts below. */
    private static String pattern(String host) {
        String name = host.startsWith(".") ? host.substring(1) : host;
        return name.equals("*") ? name : name + "|*." + name;
    }

    private static String variable(Map<String, String> environment, String name) {
        return environment.getOrDefault(name, environment.getOrDefault(name.toUpperCase(java.util.Locale.ROOT), ""));
    }
}
