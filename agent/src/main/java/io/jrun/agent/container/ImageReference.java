package io.jrun.agent.container;

import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The image of {@code --container-image}: a path on the nodes, or an image of a registry. Sources of the grammar: the
 * README of Pyxis ({@code [USER@][REGISTRY#]IMAGE[:TAG|@DIGEST]}) and the reference format of Docker ({@code
 * REGISTRY/IMAGE:TAG}).
 */
public sealed interface ImageReference {
    /** The text of the option. */
    String text();

    /**
     * A file or a folder. The node detects the kind by the content.
     *
     * @param path the given path; a relative path is relative to the folder in which the job was started
     */
    record Local(String path) implements ImageReference {
        @Override
        public String text() {
            return path;
        }
    }

    /**
     * An image of a registry.
     *
     * @param user the user; empty for the user of the credentials, or for no user
     * @param host name of the registry, with its port if it has one
     * @param repository the image's name in the registry
     * @param tag the tag; empty if a digest is given
     * @param digest the digest as {@code sha256:...}; empty if a tag is given
     * @param plainHttp whether the user has asked for a connection without TLS, by {@code http://}
     */
    record Registry(String user, String host, String repository, String tag, String digest, boolean plainHttp)
            implements ImageReference {
        @Override
        public String text() {
            return (plainHttp ? HTTP : "")
                    + (user.isEmpty() ? "" : user + "@")
                    + host + "#" + repository
                    + (digest.isEmpty() ? ":" + tag : "@" + digest);
        }
    }

    /** The prefix of an image whose registry is called without TLS. */
    String HTTP = "http://";

    /** Docker Hub's own registry, for names without a registry. */
    String DOCKER_HUB = "registry-1.docker.io";

    /**
     * Reads an image.
     *
     * @throws ContainerFormatException if the text is neither a path nor a name of a registry's image
     */
    static ImageReference parse(String text) {
        if (text.isBlank()) {
            throw new ContainerFormatException("the image is empty; give the path of a .sqsh file or of a folder, "
                    + "or an image as ubuntu:24.04");
        }
        if (text.indexOf('\0') >= 0 || text.indexOf('\n') >= 0) {
            throw new ContainerFormatException("the name of an image is one line");
        }
        return isPath(text) ? new Local(text) : RegistryParser.parse(text);
    }

    /**
     * Whether the text is a path. Pyxis treats text that begins with a dot or a slash as a path. jrun also treats text
     * with the ending of an image file as a path.
     */
    private static boolean isPath(String text) {
        return text.startsWith("/")
                || text.startsWith(".")
                || text.startsWith("~/")
                || RegistryParser.FILE.matcher(text).matches();
    }

    /** The grammar of registries' images. */
    final class RegistryParser {
        private static final Pattern FILE = Pattern.compile(".*\\.(?:sqsh|squashfs|tar|tgz|tar\\.(?:gz|bz2|xz|zst))");
        private static final Pattern DIGEST = Pattern.compile("sha256:[0-9a-f]{64}");
        private static final Pattern TAG = Pattern.compile("[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}");
        private static final Pattern HOST =
                Pattern.compile("(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\\[[0-9a-fA-F:]+\\])(?::[0-9]{1,5})?");
        private static final Pattern REPOSITORY =
                Pattern.compile("[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*");
        private static final Pattern USER = Pattern.compile("[^@#:/\\s]+");
        private static final Pattern SCHEME = Pattern.compile("([a-z][a-z0-9+.-]*)://.*");

        private RegistryParser() {}

        static Registry parse(String text) {
            String rest = withoutScheme(text).replace("\\#", "#"); // Lines of #SBATCH must write '#' as '\#'.
            String digest = "";
            int at = rest.lastIndexOf('@');
            if (at >= 0 && rest.startsWith("sha", at + 1) && rest.indexOf(':', at) >= 0) {
                digest =
                        matching(DIGEST, rest.substring(at + 1), text, "a digest is sha256: and 64 hexadecimal digits");
                rest = rest.substring(0, at);
            }
            String user = "";
            at = rest.indexOf('@');
            if (at >= 0) {
                user = matching(USER, rest.substring(0, at), text, "a user's name has no '/', ':' and no blank");
                rest = rest.substring(at + 1);
            }
            return withHost(user, rest, digest, text, text.startsWith(HTTP));
        }

        private static Registry withHost(String user, String rest, String digest, String text, boolean http) {
            Optional<String> host = host(rest, text);
            String name = host.isEmpty() ? rest : rest.substring(host.get().length() + 1);
            int colon = name.lastIndexOf(':');
            String tag = digest.isEmpty() ? "latest" : "";
            if (colon > name.lastIndexOf('/')) {
                String given =
                        matching(TAG, name.substring(colon + 1), text, "a tag is up to 128 letters, digits, _ . -");
                tag = digest.isEmpty() ? given : "";
                name = name.substring(0, colon);
            }
            matching(REPOSITORY, name, text, "an image's name is of lower-case letters, digits and single . _ - /");
            boolean hub = host.isEmpty() || host.get().equals("docker.io");
            String repository = hub && name.indexOf('/') < 0 ? "library/" + name : name;
            return new Registry(user, hub ? DOCKER_HUB : host.get(), repository, tag, digest, http);
        }

        /**
         * The name of the registry: the text before '#', or the text before the first '/' if the text has the form of a
         * host. Docker uses the same rule.
         */
        private static Optional<String> host(String rest, String text) {
            int hash = rest.indexOf('#');
            if (hash >= 0) {
                return Optional.of(matching(HOST, rest.substring(0, hash), text, "a registry is HOST or HOST:PORT"));
            }
            int slash = rest.indexOf('/');
            String first = slash < 0 ? "" : rest.substring(0, slash);
            boolean isHost = first.indexOf('.') >= 0 || first.indexOf(':') >= 0 || first.equals("localhost");
            return isHost
                    ? Optional.of(matching(HOST, first, text, "a registry is HOST or HOST:PORT"))
                    : Optional.empty();
        }

        private static String withoutScheme(String text) {
            Matcher scheme = SCHEME.matcher(text);
            if (!scheme.matches()) {
                return text;
            }
            String name = scheme.group(1);
            if (!name.equals("docker") && !name.equals("http")) {
                throw new ContainerFormatException("'" + text + "': jrun reads no " + name
                        + ":// images; give docker://, the path of a .sqsh file, or the folder of an OCI layout");
            }
            return text.substring(name.length() + "://".length());
        }

        private static String matching(Pattern pattern, String part, String text, String rule) {
            if (!pattern.matcher(part).matches()) {
                throw new ContainerFormatException("'" + text + "' is not an image: '" + part + "': " + rule
                        + "; a file's path begins with / or ./");
            }
            return part;
        }
    }
}
