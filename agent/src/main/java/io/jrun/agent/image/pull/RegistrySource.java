package io.jrun.agent.image.pull;

import io.jrun.agent.container.ContainerException;
import io.jrun.agent.container.ImageReference;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import land.oras.ContainerRef;
import land.oras.Registry;
import land.oras.auth.NoAuthProvider;
import land.oras.auth.UsernamePasswordProvider;
import land.oras.exception.OrasException;

/** An image of a registry, read with the ORAS library. Source: the OCI distribution specification, v1.1. */
final class RegistrySource implements ImageSource {
    private final ImageReference.Registry image;
    private final Registry registry;
    private final ContainerRef reference;
    private final RegistryFailure failure;

    RegistrySource(ImageReference.Registry image, Map<String, String> environment) throws ContainerException {
        this.image = image;
        RegistryCredentials files = new RegistryCredentials(environment);
        Optional<Credential> credential = files.find(image);
        this.failure = new RegistryFailure(image, credential, files.enrootFile());
        if (credential.isEmpty() && !image.user().isEmpty()) {
            throw new ContainerException("no password is known for the user " + image.user() + " of the registry "
                    + image.host() + "; " + failure.howToLogIn());
        }
        Registry.Builder builder = Registry.builder().withInsecure(image.plainHttp() || isThisNode(image.host()));
        builder = credential.isPresent()
                ? builder.withAuthProvider(new UsernamePasswordProvider(
                        credential.get().user(), credential.get().password()))
                : builder.withAuthProvider(new NoAuthProvider());
        Optional<Path> authorities = authorities(environment);
        if (authorities.isPresent()) {
            builder = builder.withCaFile(authorities.get());
        }
        this.registry = builder.build();
        boolean hub = image.host().equals(ImageReference.DOCKER_HUB);
        String name = (hub ? "docker.io" : image.host()) + "/" + image.repository();
        this.reference =
                ContainerRef.parse(name + (image.digest().isEmpty() ? ":" + image.tag() : "@" + image.digest()));
    }

    /** A registry on this node needs no TLS. Docker has the same rule. */
    private static boolean isThisNode(String host) {
        String name = host.replaceFirst(":[0-9]+$", "");
        return name.equals("localhost") || name.startsWith("127.") || name.equals("[::1]");
    }

    /**
     * The node's own list of certificate authorities, which may have the authorities of the site; empty for the JDK's
     * list.
     */
    private static Optional<Path> authorities(Map<String, String> environment) {
        for (String file : new String[] {
            environment.getOrDefault("SSL_CERT_FILE", ""),
            "/etc/ssl/certs/ca-certificates.crt",
            "/etc/pki/tls/certs/ca-bundle.crt"
        }) {
            if (!file.isEmpty() && Files.isReadable(Path.of(file))) {
                return Optional.of(Path.of(file));
            }
        }
        return Optional.empty();
    }

    @Override
    public String image() {
        return image.text();
    }

    @Override
    public byte[] manifest() throws ContainerException {
        byte[] manifest = manifest(reference);
        if (!image.digest().isEmpty() && !Sha256Stream.digest(manifest).equals(image.digest())) {
            throw ImageManifest.damaged(image.text(), "the manifest from the registry has another digest");
        }
        return manifest;
    }

    @Override
    public byte[] manifest(Blob descriptor) throws ContainerException {
        return manifest(reference.withDigest(descriptor.digest()));
    }

    private byte[] manifest(ContainerRef wanted) throws ContainerException {
        String json =
                request(() -> String.valueOf(registry.getDescriptor(wanted).getJson()));
        return json.getBytes(StandardCharsets.UTF_8);
    }

    @Override
    public InputStream open(Blob blob) throws ContainerException {
        return request(() -> registry.fetchBlob(reference.withDigest(blob.digest())));
    }

    private <T> T request(Supplier<T> request) throws ContainerException {
        try {
            return request.get();
        } catch (OrasException e) {
            throw failure.of(e);
        }
    }

    @Override
    public void close() throws IOException {
        registry.getExecutorService().shutdown();
    }
}
