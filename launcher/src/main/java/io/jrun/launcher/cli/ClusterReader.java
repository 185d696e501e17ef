package io.jrun.launcher.cli;

import io.jrun.comm.file.UserFile;
import io.jrun.launcher.hostlist.HostFile;
import io.jrun.launcher.hostlist.HostList;
import io.jrun.launcher.hostlist.HostSyntaxException;
import io.jrun.launcher.job.Cluster;
import io.jrun.launcher.job.UsageException;
import io.jrun.launcher.slurm.SrunPerTaskCheck;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/** Reads the hosts of a job, and the way to their agents, from the options. Confined to one thread. */
final class ClusterReader {
    private static final int MAX_PORT = 65535;

    private final ResolvedOptions settings;
    private final CommandContext commandContext;
    private final PlacementOptions placement;

    /** The values of {@code --launch}. */
    private enum AgentStart {
        AUTO,
        LOCAL,
        HOSTS,
        SSH,
        SLURM
    }

    ClusterReader(ResolvedOptions settings, CommandContext commandContext, PlacementOptions placement) {
        this.settings = settings;
        this.commandContext = commandContext;
        this.placement = placement;
    }

    /** The hosts, empty if none are named. */
    Optional<Cluster> read() {
        AgentStart launch = launch();
        Optional<LaunchOption> source = source();
        if (source.isEmpty()) {
            if ((launch == AgentStart.AUTO && !isOfThisNode()) || launch == AgentStart.SLURM) {
                Optional<Cluster> allocated =
                        new SlurmReader(settings, commandContext, placement).read(launch == AgentStart.SLURM);
                if (allocated.isPresent()) {
                    return allocated;
                }
            } else if (launch == AgentStart.AUTO) {
                SrunPerTaskCheck.explainRendezvous(commandContext.environment()).ifPresent(words -> {
                    throw new UsageException(words);
                });
            }
            if (launch == AgentStart.HOSTS || launch == AgentStart.SSH) {
                throw new UsageException(settings.name(LaunchOption.LAUNCH) + " "
                        + settings.text(LaunchOption.LAUNCH, "") + " needs the hosts: --hosts or --hostfile.");
            }
            placement.refuseChoice();
            return Optional.empty(); // a secret file or port may be set in the environment for other jobs
        }
        return switch (launch) {
            case LOCAL ->
                throw new UsageException(settings.name(LaunchOption.LAUNCH) + " local means this machine alone, but "
                        + settings.name(source.get()) + " names hosts.");
            case SLURM ->
                throw new UsageException(
                        settings.name(LaunchOption.LAUNCH) + " slurm means the allocation's nodes, but "
                                + settings.name(source.get()) + " names hosts. --include chooses among the nodes.");
            case HOSTS -> Optional.of(standing(source.get()));
            case SSH -> Optional.of(overSsh(source.get()));
            case AUTO -> Optional.of(agentsStand() ? standing(source.get()) : overSsh(source.get()));
        };
    }

    /** Whether this jrun runs workers on its own node only: alone, or as one node of a rendezvous. */
    private boolean isOfThisNode() {
        return RendezvousOptionsReader.namesEndpoint(settings)
                || settings.has(LaunchOption.NODE_RANK)
                || settings.isOn(LaunchOption.STANDALONE);
    }

    private boolean agentsStand() {
        if (settings.has(LaunchOption.SECRET_FILE) || settings.has(LaunchOption.AGENT_PORT)) {
            return true;
        }
        boolean meansSsh = settings.has(LaunchOption.SSH_OPTIONS) || settings.has(LaunchOption.REMOTE_JRUN);
        return !meansSsh && Files.exists(SecretPath.standard(commandContext));
    }

    private AgentStart launch() {
        return AgentStart.valueOf(settings.text(LaunchOption.LAUNCH, "auto").toUpperCase(Locale.ROOT));
    }

    private Optional<LaunchOption> source() {
        if (settings.has(LaunchOption.HOSTS) && settings.has(LaunchOption.HOSTFILE)) {
            throw new UsageException(settings.name(LaunchOption.HOSTS) + " and " + settings.name(LaunchOption.HOSTFILE)
                    + " both name the hosts; give one of them.");
        }
        return settings.has(LaunchOption.HOSTS)
                ? Optional.of(LaunchOption.HOSTS)
                : Optional.of(LaunchOption.HOSTFILE).filter(settings::has);
    }

    private Cluster.Standing standing() {
        int port = OptionValues.count(
                settings.text(LaunchOption.AGENT_PORT, Integer.toString(AgentRequest.DEFAULT_PORT)),
                settings.name(LaunchOption.AGENT_PORT),
                1,
                MAX_PORT);
        Path secret = settings.has(LaunchOption.SECRET_FILE)
                ? commandContext.resolve(settings.text(LaunchOption.SECRET_FILE, ""))
                : SecretPath.standard(commandContext);
        if (!Files.isReadable(secret)) {
            throw new UsageException(settings.name(LaunchOption.SECRET_FILE) + ": " + secret
                    + ": no such readable file; give the file that 'jrun agent' uses on each host.");
        }
        return new Cluster.Standing(port, secret);
    }

    private Cluster standing(LaunchOption source) {
        for (Cluster.Host host : hosts(source)) {
            if (!host.user().isEmpty()) {
                throw new UsageException(settings.name(source) + ": '" + host.user() + "@" + host.name()
                        + "': a standing agent runs as the user who started it; leave the user out, or use"
                        + " --launch=ssh.");
            }
        }
        return new Cluster(chosen(source), standing());
    }

    private Cluster overSsh(LaunchOption source) {
        Map<String, String> users = new HashMap<>();
        hosts(source).stream()
                .filter(host -> !host.user().isEmpty())
                .forEach(host -> users.put(host.name(), host.user()));
        return new Cluster(chosen(source), ssh(users));
    }

    private Cluster.Ssh ssh(Map<String, String> users) {
        return new Cluster.Ssh(
                OptionValues.shellWords(
                        settings.text(LaunchOption.SSH_OPTIONS, ""), settings.name(LaunchOption.SSH_OPTIONS)),
                settings.text(LaunchOption.REMOTE_JRUN, commandContext.command().toString()),
                users);
    }

    private List<Cluster.Host> chosen(LaunchOption source) {
        List<Cluster.Host> hosts = hosts(source);
        List<Cluster.Host> chosen = placement.choose(hosts);
        placement.checkCounted(hosts);
        return chosen;
    }

    private List<Cluster.Host> hosts(LaunchOption source) {
        String text = settings.text(source, "");
        if (source == LaunchOption.HOSTS) {
            return hosts(text, settings.name(source));
        }
        try {
            return HostFile.parse(UserFile.withoutByteOrderMark(
                            TextFile.read(settings.name(source) + ": " + text, commandContext.resolve(text)))
                    .lines()
                    .toList());
        } catch (HostSyntaxException e) {
            throw new UsageException(settings.name(source) + ": " + text + ": " + e.getMessage() + ".");
        }
    }

    static List<Cluster.Host> hosts(String text, String name) {
        try {
            return HostList.parse(text);
        } catch (HostSyntaxException e) {
            throw new UsageException(name + ": " + e.getMessage() + ".");
        }
    }
}
