<%@ page contentType="application/rdap+json" session="false" trimDirectiveWhitespaces="true" %>
{"objectClassName":"domain","ldhName":"<%= request.getPathInfo().substring(1) %>"}
