package io.jrun.agent.container.builtin;

import io.jrun.agent.container.ContainerEngine;
import io.jrun.agent.container.ContainerException;
import io.jrun.agent.container.ContainerSpec;
import io.jrun.agent.container.ImageReference;
import io.jrun.agent.container.NodeContainers;
import io.jrun.agent.container.NodeRequest;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Runs workers in containers that it makes itself. */
public final class BuiltinEngine implements ContainerEngine {
    @Override
    public NodeContainers start(ContainerSpec spec, NodeRequest node) throws ContainerException, InterruptedException {
        Account account = account();
        HostTools tools = HostTools.find(node.environment());
        LocalImage image = LocalImage.open(path(spec), account, node.environment());
        try {
            Files.createDirectory(node.scratch());
        } catch (IOException e) {
            throw new ContainerException("the folder of the containers cannot be made: " + e.getMessage(), e);
        }
        NamespaceHolder holder =
                NamespaceHolder.start(image.kind(), image.path(), node.scratch(), tools, account, image.squashfuse());
        try {
            return BuiltinContainers.prepare(spec, node, tools, account, holder);
        } catch (ContainerException | RuntimeException e) {
            holder.close();
            throw e;
        }
    }

    private static Account account() throws ContainerException {
        try {
            return Account.ofThisProcess();
        } catch (IOException e) {
            throw new ContainerException("/proc/self cannot be read: " + e.getMessage(), e);
        }
    }

    private static Path path(ContainerSpec spec) throws ContainerException {
        return switch (spec.image().orElseThrow()) {
            case ImageReference.Local local -> Path.of(local.path());
            case ImageReference.Registry registry ->
                throw new ContainerException("jrun pulls no images from registries yet; import " + registry.text()
                        + " with enroot, or copy it with skopeo and umoci, and name the file or folder");
        };
    }
}
