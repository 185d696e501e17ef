package io.jrun.launcher.cli;

import io.jrun.agent.LauncherAddress;
import java.util.OptionalInt;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** Reads {@code HOST}, {@code HOST:PORT} and {@code :PORT}, with an IPv6 address in brackets. Stateless. */
final class HostAndPort {
    private static final int MAX_PORT = 65535;

    private static final Pattern FORM = Pattern.compile("(?:\\[([^\\]]+)]|([^:\\[\\]]*))(?::([^:]*))?");

    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9._-]{1,255}");

    /** An IPv6 address, with the interface of a link-local one. */
    private static final Pattern IPV6 = Pattern.compile("[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*(?:%[A-Za-z0-9._-]+)?");

    private HostAndPort() {}

    /**
     * Refuses a text that is neither a host name nor a numeric address.
     *
     * @param option the option's name for messages
     */
    static void checkHost(String host, String text, String option) {
        if (!NAME.matcher(host).matches() && !IPV6.matcher(host).matches()) {
            throw OptionValues.refused(
                    option, text, "a host's name (letters, digits, dots, dashes, underscores) or an address");
        }
    }

    /** Refuses {@code user@host}: nobody logs in at an address that is only connected to. */
    private static void refuseUser(String text, String option) {
        int at = text.lastIndexOf('@');
        if (at >= 0 && at + 1 < text.length()) {
            throw OptionValues.refused(
                    option,
                    text,
                    "'" + text.substring(at + 1) + "' without a user, because jrun does not log in there");
        }
    }

    /** The host in {@code text}, without the brackets of an IPv6 address. */
    static String host(String text, String option) {
        String stripped = text.strip();
        refuseUser(stripped, option);
        boolean inBrackets = stripped.startsWith("[") && stripped.endsWith("]");
        String host = inBrackets ? stripped.substring(1, stripped.length() - 1) : stripped;
        if (!inBrackets && host.indexOf(':') >= 0 && host.indexOf(':') == host.lastIndexOf(':')) {
            throw OptionValues.refused(option, text, "a host without a port; the port is an option of its own");
        }
        checkHost(host, text, option);
        return host;
    }

    /**
     * The address in {@code text}; its host may be empty.
     *
     * @param option the option's name for messages
     * @param standard the port where there is none, empty if there must be one
     */
    static LauncherAddress parse(String text, String option, OptionalInt standard) {
        refuseUser(text.strip(), option);
        Matcher parts = FORM.matcher(text.strip());
        if (!parts.matches() || text.isBlank() || (parts.group(3) == null && standard.isEmpty())) {
            throw OptionValues.refused(
                    option,
                    text,
                    standard.isEmpty()
                            ? "HOST:PORT, an IPv6 address in brackets"
                            : "ADDRESS:PORT, ADDRESS or :PORT, an IPv6 address in brackets");
        }
        String host = Stream.of(parts.group(1), parts.group(2))
                .filter(group -> group != null && !group.isEmpty())
                .findFirst()
                .orElse("");
        if (!host.isEmpty()) {
            checkHost(host, text, option);
        }
        int port = parts.group(3) == null
                ? standard.orElseThrow()
                : OptionValues.count(parts.group(3), option, 0, MAX_PORT);
        return new LauncherAddress(host, port);
    }
}
