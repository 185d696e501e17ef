package io.jrun.launcher.report;

import io.jrun.comm.file.FileError;
import io.jrun.comm.file.UserFile;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import javax.xml.stream.XMLInputFactory;
import javax.xml.stream.XMLStreamException;
import javax.xml.stream.XMLStreamReader;

/**
 * The file of NCCL_TOPO_FILE, from which NCCL takes the paths between GPUs and network adapters. NCCL says nothing about
 * a file that it cannot use, unless NCCL_DEBUG=WARN is set. Source: NCCL's user guide, and {@code xml.cc} of NCCL.
 * Stateless.
 */
public final class NcclTopologyFile {
    private static final String VARIABLE = "NCCL_TOPO_FILE";
    private static final String ROOT = "system";

    private NcclTopologyFile() {}

    /** One line about the file on this machine; none if the workers get no such variable. */
    public static List<String> lines(Map<String, String> environment, Path directory) {
        String name = environment.getOrDefault(VARIABLE, "");
        if (name.isEmpty()) {
            return List.of();
        }
        Path file = directory.resolve(name);
        String line;
        try (InputStream in = UserFile.stream(file)) {
            line = contents(in);
        } catch (IOException e) {
            line = FileError.reason(e, file) + ", so NCCL reads the topology of the machine";
        } catch (XMLStreamException _) {
            line = "the file is no XML of NCCL, so NCCL reads the topology of the machine";
        }
        return List.of(VARIABLE + "=" + name + ": " + line);
    }

    private static String contents(InputStream in) throws XMLStreamException {
        XMLInputFactory factory = XMLInputFactory.newDefaultFactory();
        factory.setProperty(XMLInputFactory.SUPPORT_DTD, false);
        XMLStreamReader reader = factory.createXMLStreamReader(in);
        int gpus = 0;
        int adapters = 0;
        boolean isRoot = true;
        while (reader.hasNext()) {
            if (reader.next() == XMLStreamReader.START_ELEMENT) {
                String element = reader.getLocalName();
                if (isRoot && !element.equals(ROOT)) {
                    throw new XMLStreamException("the first element is " + element);
                }
                isRoot = false;
                gpus += element.equals("gpu") ? 1 : 0;
                adapters += element.equals("net") ? 1 : 0;
            }
        }
        return "the file has " + gpus + " GPUs and " + adapters + " network adapters";
    }
}
