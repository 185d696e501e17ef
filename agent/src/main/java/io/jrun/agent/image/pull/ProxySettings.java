package io.jrun.agent.image.pull;

import java.net.URI;
import java.util.Arrays;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Gives the JVM the proxies of the variables https_proxy, http_proxy and no_proxy. curl and Enroot use the same
 * variables. Stateless.
 */
final class ProxySettings {
    private ProxySettings() {}

    static void apply(Map<String, String> environment) {
        for (String scheme : new String[] {"https", "http"}) {
            String proxy = variable(environment, scheme + "_proxy");
            if (proxy.isEmpty()) {
                continue;
            }
            URI uri = URI.create(proxy.contains("://") ? proxy : "http://" + proxy);
            if (uri.getHost() != null) {
                System.setProperty(scheme + ".proxyHost", uri.getHost());
                System.setProperty(scheme + ".proxyPort", Integer.toString(uri.getPort() < 0 ? 80 : uri.getPort()));
            }
        }
        String direct = Arrays.stream(variable(environment, "no_proxy").split(",", -1))
                .map(String::strip)
                .filter(host -> !host.isEmpty())
                .map(ProxySettings::pattern)
                .collect(Collectors.joining("|"));
        System.setProperty("http.nonProxyHosts", "localhost|127.*|[::1]" + (direct.isEmpty() ? "" : "|" + direct));
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
