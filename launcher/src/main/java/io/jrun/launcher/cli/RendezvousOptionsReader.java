package io.jrun.launcher.cli;

import io.jrun.agent.LauncherAddress;
import io.jrun.launcher.job.Cluster;
import io.jrun.launcher.job.RendezvousSettings;
import io.jrun.launcher.job.RendezvousSettings.Hosting;
import io.jrun.launcher.job.UsageException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.zip.CRC32;

/**
 * Reads the options of torchrun's start: the user starts the same command on every node, and the commands meet at one
 * address. The defaults are those of torchrun. Confined to one thread.
 */
final class RendezvousOptionsReader {
    private static final int RENDEZVOUS_PORT = 29_400;
    private static final int MASTER_PORT = 29_500;
    private static final int MOST_NODES = 65_536;
    private static final int MAX_PORT = 65_535;

    /** The keys of torchrun. jrun uses some keys and ignores the others. */
    private static final Set<String> CONF = Set.of(
            "is_host",
            "join_timeout",
            "last_call_timeout",
            "timeout",
            "rank",
            "read_timeout",
            "close_timeout",
            "store_type",
            "heartbeat_timeout",
            "keep_alive_interval",
            "keep_alive_max_attempt",
            "use_libuv");

    /** A pair of quotes around a whole value, which no shell has removed. */
    private static final Pattern QUOTES = Pattern.compile("^\\s*(['\"])(.*)\\1\\s*$", Pattern.DOTALL);

    private final ResolvedOptions settings;
    private final CommandContext commandContext;
    private final PlacementOptions placement;

    /** The form {@code MIN:MAX}. */
    private record Nodes(int least, int most) {}

    RendezvousOptionsReader(ResolvedOptions settings, CommandContext commandContext, PlacementOptions placement) {
        this.settings = settings;
        this.commandContext = commandContext;
        this.placement = placement;
    }

    /** Whether an option names the address of the rendezvous. */
    static boolean namesEndpoint(ResolvedOptions settings) {
        return settings.has(LaunchOption.RDZV_ENDPOINT) || settings.has(LaunchOption.MASTER_ADDR);
    }

    /**
     * MASTER_ADDR and MASTER_PORT of the workers: host and port as the user named them. The host is empty for the
     * address of node 0, the port is 0 for any free port. In a job of a fixed number of nodes, jrun's own rendezvous
     * leaves the port before the workers start. A job of MIN:MAX nodes needs the port for late nodes.
     */
    LauncherAddress master(Optional<Cluster> cluster, boolean isElastic) {
        Optional<RendezvousSettings> rendezvous = cluster.map(Cluster::reach)
                .filter(Cluster.ByRendezvous.class::isInstance)
                .map(reach -> ((Cluster.ByRendezvous) reach).rendezvous());
        boolean isStatic = settings.has(LaunchOption.MASTER_ADDR)
                && settings.text(LaunchOption.RDZV_ENDPOINT, "").isEmpty()
                && (rendezvous.isPresent() || (cluster.isEmpty() && !settings.isOn(LaunchOption.STANDALONE)));
        String standard = isStatic && rendezvous.isPresent() ? Integer.toString(MASTER_PORT) : "0";
        int port = OptionValues.count(
                settings.text(LaunchOption.MASTER_PORT, standard),
                settings.name(LaunchOption.MASTER_PORT),
                0,
                MAX_PORT);
        if (isElastic
                && rendezvous
                        .map(RendezvousSettings::port)
                        .filter(own -> own == port)
                        .isPresent()) {
            return new LauncherAddress("", 0);
        }
        boolean isOfNode0 = rendezvous.stream().noneMatch(own -> own.nodeRank().orElse(0) != 0);
        return new LauncherAddress(isStatic && isOfNode0 ? masterHost() : "", port);
    }

    private String masterHost() {
        return HostAndPort.host(settings.text(LaunchOption.MASTER_ADDR, ""), settings.name(LaunchOption.MASTER_ADDR));
    }

    /**
     * Returns the rendezvous, empty for a job of one node.
     *
     * @param words the program and its arguments
     */
    Optional<Cluster> read(List<String> words) {
        Map<String, String> conf =
                conf(settings.text(LaunchOption.RDZV_CONF, ""), settings.name(LaunchOption.RDZV_CONF));
        Nodes nodes = nodes();
        if (nodes.most() == 1 || settings.isOn(LaunchOption.STANDALONE)) {
            if (nodes.most() > 1) {
                throw new UsageException(settings.name(LaunchOption.STANDALONE) + " means this machine alone, but "
                        + settings.name(LaunchOption.NNODES) + " is " + settings.text(LaunchOption.NNODES, "") + ".");
            }
            return Optional.empty();
        }
        if (!namesEndpoint(settings)) {
            throw new UsageException(settings.name(LaunchOption.NNODES) + ": '" + settings.text(LaunchOption.NNODES, "")
                    + "' nodes, but no hosts are named; give --hosts or --hostfile, or on every node"
                    + " --rdzv-endpoint=HOST:PORT.");
        }
        LauncherAddress address = address();
        OptionalInt rank = nodeRank(nodes, conf);
        RendezvousSettings rendezvous = new RendezvousSettings(
                address.host(),
                address.port(),
                hosting(address.host(), rank, conf),
                rank,
                nodes.least(),
                nodes.most(),
                job(words),
                time(conf, conf.containsKey("join_timeout") ? "join_timeout" : "timeout", "600"),
                time(conf, "last_call_timeout", "30"),
                localAddress(),
                placement.ownCount(nodes.most()),
                secretFile());
        List<Cluster.Host> hosts = IntStream.range(0, nodes.most())
                .mapToObj(node -> new Cluster.Host("node" + node, OptionalInt.empty()))
                .toList();
        return Optional.of(new Cluster(hosts, new Cluster.ByRendezvous(rendezvous)));
    }

    private Nodes nodes() {
        String name = settings.name(LaunchOption.NNODES);
        String text = settings.text(LaunchOption.NNODES, "1");
        String[] ends = text.split(":", -1);
        try {
            int least = OptionValues.count(ends[0], name, 1, MOST_NODES);
            int most = ends.length == 1 ? least : OptionValues.count(ends[1], name, least, MOST_NODES);
            if (ends.length <= 2) {
                return new Nodes(least, most);
            }
        } catch (UsageException e) {
            // the code below reports the error for all cases
        }
        throw OptionValues.refused(name, text, "a number of nodes, or MIN:MAX");
    }

    /** Reads {@code k=v,k=v}, also with a pair of quotes around it. */
    static Map<String, String> conf(String text, String name) {
        Map<String, String> conf = new TreeMap<>();
        for (String pair : QUOTES.matcher(text).replaceFirst("$2").split(",", -1)) {
            if (pair.isBlank()) {
                continue;
            }
            String key = pair.split("=", 2)[0].strip();
            if (!pair.contains("=") || !CONF.contains(key)) {
                throw OptionValues.refused(
                        name,
                        pair,
                        "KEY=VALUE with one of "
                                + String.join(", ", CONF.stream().sorted().toList()));
            }
            String value = pair.substring(pair.indexOf('=') + 1).strip();
            checkConf(key, value, name);
            if (conf.put(key, value) != null) {
                throw OptionValues.refused(name, text, "each key once, and " + key + " comes twice");
            }
        }
        return conf;
    }

    /** Checks the value of a key that jrun uses. */
    private static void checkConf(String key, String value, String name) {
        String called = name + ": " + key;
        switch (key) {
            case "join_timeout", "last_call_timeout", "timeout" -> OptionValues.time(value, called);
            case "rank" -> OptionValues.count(value, called, 0, MOST_NODES - 1);
            case "is_host" -> OptionValues.isTrue(value, called);
            default -> {
                // jrun ignores the other keys of torchrun
            }
        }
    }

    private LauncherAddress address() {
        if (settings.has(LaunchOption.RDZV_ENDPOINT)) {
            return named(HostAndPort.parse(
                    settings.text(LaunchOption.RDZV_ENDPOINT, ""),
                    settings.name(LaunchOption.RDZV_ENDPOINT),
                    OptionalInt.of(RENDEZVOUS_PORT)));
        }
        int port = OptionValues.count(
                settings.text(LaunchOption.MASTER_PORT, Integer.toString(MASTER_PORT)),
                settings.name(LaunchOption.MASTER_PORT),
                1,
                MAX_PORT);
        return new LauncherAddress(masterHost(), port);
    }

    private LauncherAddress named(LauncherAddress address) {
        if (address.host().isEmpty() || address.port() == 0) {
            throw OptionValues.refused(
                    settings.name(LaunchOption.RDZV_ENDPOINT),
                    settings.text(LaunchOption.RDZV_ENDPOINT, ""),
                    "a host and a port other than 0, the same on all nodes");
        }
        return address;
    }

    private OptionalInt nodeRank(Nodes nodes, Map<String, String> conf) {
        String text = settings.text(LaunchOption.NODE_RANK, conf.getOrDefault("rank", ""));
        return text.isEmpty()
                ? OptionalInt.empty()
                : OptionalInt.of(OptionValues.count(text, settings.name(LaunchOption.NODE_RANK), 0, nodes.most() - 1));
    }

    /**
     * Whether this node hosts the rendezvous. As in torchrun, c10d decides by the address, and static by node rank 0.
     * Without a node rank the address decides.
     */
    private Hosting hosting(String host, OptionalInt rank, Map<String, String> conf) {
        if (conf.containsKey("is_host")) {
            return OptionValues.isTrue(conf.get("is_host"), settings.name(LaunchOption.RDZV_CONF))
                    ? Hosting.HERE
                    : Hosting.ELSEWHERE;
        }
        boolean byAddress = settings.text(LaunchOption.RDZV_BACKEND, "").equals("c10d") || rank.isEmpty();
        if (!byAddress) {
            return rank.getAsInt() == 0 ? Hosting.HERE : Hosting.ELSEWHERE;
        }
        return isHere(host) ? Hosting.FIRST_TO_LISTEN : Hosting.ELSEWHERE;
    }

    private static boolean isHere(String host) {
        try {
            for (InetAddress address : InetAddress.getAllByName(host)) {
                if (address.isLoopbackAddress() || NetworkInterface.getByInetAddress(address) != null) {
                    return true;
                }
            }
        } catch (IOException e) {
            // an unknown name belongs to another machine; the connection attempt reports the error
        }
        return false;
    }

    /** Returns the id of the job. The default is a checksum of facts that all nodes of one job share. */
    private String job(List<String> words) {
        String id = settings.text(LaunchOption.RDZV_ID, settings.text(LaunchOption.RUN_ID, ""));
        if (!id.isEmpty()) {
            return id;
        }
        String slurm = commandContext.variable("SLURM_HET_JOB_ID", commandContext.variable("SLURM_JOB_ID", ""));
        CRC32 sum = new CRC32();
        sum.update((settings.text(LaunchOption.NNODES, "") + words + slurm).getBytes(StandardCharsets.UTF_8));
        return RendezvousSettings.UNNAMED + "%08x".formatted(sum.getValue());
    }

    private Duration time(Map<String, String> conf, String key, String standard) {
        return OptionValues.time(conf.getOrDefault(key, standard), settings.name(LaunchOption.RDZV_CONF));
    }

    private String localAddress() {
        String text = settings.text(LaunchOption.LOCAL_ADDR, "");
        if (text.isEmpty()) {
            return "";
        }
        try {
            return InetAddress.getByName(text).getHostAddress();
        } catch (IOException e) {
            throw OptionValues.refused(
                    settings.name(LaunchOption.LOCAL_ADDR), text, "an address of this machine, or its name");
        }
    }

    private Path secretFile() {
        return settings.has(LaunchOption.SECRET_FILE)
                ? commandContext.resolve(settings.text(LaunchOption.SECRET_FILE, ""))
                : SecretPath.standard(commandContext);
    }
}
